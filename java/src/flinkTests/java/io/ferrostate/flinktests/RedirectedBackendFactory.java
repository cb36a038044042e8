package io.ferrostate.flinktests;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.StateBackendFactory;

/** What {@code state.backend.type} names, by default, while Flink's tests run. */
public class RedirectedBackendFactory implements StateBackendFactory<RedirectedBackend> {

    @Override
    public RedirectedBackend createFromConfig(ReadableConfig config, ClassLoader classLoader) {
        return new RedirectedBackend().configure(config, classLoader);
    }
}
