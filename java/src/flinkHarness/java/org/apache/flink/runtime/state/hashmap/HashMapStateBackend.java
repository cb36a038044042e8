package org.apache.flink.runtime.state.hashmap;

import io.ferrostate.flinktests.RedirectedBackend;
import java.io.IOException;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.OperatorStateBackend;

/**
 * Stands before Flink's class of this name on the class path: operator harnesses, which say {@code new
 * HashMapStateBackend()}, get Ferrostate.
 */
public class HashMapStateBackend extends AbstractStateBackend implements ConfigurableStateBackend {

    private static final long serialVersionUID = 1L;

    private final RedirectedBackend redirected;

    public HashMapStateBackend() {
        this(RedirectedBackend.withoutManagedMemory());
    }

    private HashMapStateBackend(RedirectedBackend redirected) {
        this.redirected = redirected;
    }

    @Override
    public HashMapStateBackend configure(ReadableConfig config, ClassLoader classLoader) {
        return new HashMapStateBackend(redirected.configure(config, classLoader));
    }

    @Override
    public <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
            KeyedStateBackendParameters<K> parameters) throws IOException {
        return redirected.createKeyedStateBackend(parameters);
    }

    @Override
    public OperatorStateBackend createOperatorStateBackend(
            OperatorStateBackendParameters parameters) throws Exception {
        return redirected.createOperatorStateBackend(parameters);
    }

    @Override
    public boolean supportsNoClaimRestoreMode() {
        return redirected.supportsNoClaimRestoreMode();
    }

    @Override
    public boolean supportsSavepointFormat(SavepointFormatType formatType) {
        return redirected.supportsSavepointFormat(formatType);
    }
}
