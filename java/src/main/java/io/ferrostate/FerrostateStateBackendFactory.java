package io.ferrostate;

import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.StateBackendFactory;

/**
 * Makes Ferrostate from a configuration: {@code state.backend.type:
 * io.ferrostate.FerrostateStateBackendFactory}. The JobManager uses it too, so nothing native happens
 * here.
 */
public final class FerrostateStateBackendFactory
        implements StateBackendFactory<FerrostateStateBackend> {

    @Override
    public FerrostateStateBackend createFromConfig(ReadableConfig config, ClassLoader classLoader)
            throws IllegalConfigurationException {
        return new FerrostateStateBackend().configure(config, classLoader);
    }
}
