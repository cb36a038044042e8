package io.ferrostate.job;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.FerrostateStateBackendFactory;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractManagedMemoryStateBackend;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.runtime.state.StateBackendFactory;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Ferrostate, and a list of what its keyed backends were restored from. */
public final class WatchedBackend extends AbstractManagedMemoryStateBackend {

    private static final long serialVersionUID = 1L;

    enum Restore {
        LOCAL,
        REMOTE,
        LOCAL_FAILED,
        REMOTE_FAILED
    }

    static final List<Restore> RESTORES = new CopyOnWriteArrayList<>();

    private final FerrostateStateBackend backend;

    private WatchedBackend(FerrostateStateBackend backend) {
        this.backend = backend;
    }

    @Override
    public <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
            KeyedStateBackendParameters<K> parameters) throws IOException {
        boolean local =
                parameters.getStateHandles().stream()
                        .anyMatch(IncrementalLocalKeyedStateHandle.class::isInstance);
        boolean done = false;
        try {
            AbstractKeyedStateBackend<K> keyed = backend.createKeyedStateBackend(parameters);
            done = true;
            return keyed;
        } finally {
            if (parameters.getStateHandles().stream().anyMatch(KeyedStateHandle.class::isInstance)) {
                RESTORES.add(
                        done
                                ? local ? Restore.LOCAL : Restore.REMOTE
                                : local ? Restore.LOCAL_FAILED : Restore.REMOTE_FAILED);
            }
        }
    }

    @Override
    public OperatorStateBackend createOperatorStateBackend(
            OperatorStateBackendParameters parameters) throws Exception {
        return backend.createOperatorStateBackend(parameters);
    }

    /** For {@code state.backend.type}. */
    public static final class Factory implements StateBackendFactory<WatchedBackend> {
        @Override
        public WatchedBackend createFromConfig(ReadableConfig config, ClassLoader classLoader) {
            return new WatchedBackend(
                    new FerrostateStateBackendFactory().createFromConfig(config, classLoader));
        }
    }
}
