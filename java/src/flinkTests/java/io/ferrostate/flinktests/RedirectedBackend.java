package io.ferrostate.flinktests;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;
import java.io.IOException;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractManagedMemoryStateBackend;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.OperatorStateBackend;

/**
 * Ferrostate in another backend's place: counts what it makes in {@link Redirections}, and is Ferrostate
 * in everything else.
 */
public final class RedirectedBackend extends AbstractManagedMemoryStateBackend
        implements ConfigurableStateBackend {

    private static final long serialVersionUID = 1L;

    private final FerrostateStateBackend ferrostate;

    public RedirectedBackend() {
        this(new FerrostateStateBackend());
    }

    private RedirectedBackend(FerrostateStateBackend ferrostate) {
        this.ferrostate = ferrostate;
    }

    /** For operator harnesses, which take managed memory that a backend holds for a leak. */
    public static RedirectedBackend withoutManagedMemory() {
        return new RedirectedBackend(
                new FerrostateStateBackend().set(FerrostateOptions.USE_MANAGED_MEMORY, false));
    }

    @Override
    public RedirectedBackend configure(ReadableConfig config, ClassLoader classLoader) {
        return new RedirectedBackend(ferrostate.configure(config, classLoader));
    }

    @Override
    public <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
            KeyedStateBackendParameters<K> parameters) throws IOException {
        AbstractKeyedStateBackend<K> backend = ferrostate.createKeyedStateBackend(parameters);
        Redirections.made(parameters.getStateHandles());
        return backend;
    }

    @Override
    public OperatorStateBackend createOperatorStateBackend(
            OperatorStateBackendParameters parameters) throws Exception {
        return ferrostate.createOperatorStateBackend(parameters);
    }

    @Override
    public boolean useManagedMemory() {
        return ferrostate.useManagedMemory();
    }

    @Override
    public boolean supportsNoClaimRestoreMode() {
        return ferrostate.supportsNoClaimRestoreMode();
    }

    @Override
    public boolean supportsSavepointFormat(SavepointFormatType formatType) {
        return ferrostate.supportsSavepointFormat(formatType);
    }
}
