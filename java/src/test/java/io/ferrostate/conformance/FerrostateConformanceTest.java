package io.ferrostate.conformance;

import io.ferrostate.FerrostateStateBackend;
import java.io.IOException;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.ConfigurableStateBackend;

/** Flink's tests on Ferrostate. {@link RocksDBBaselineTest} says how many there are to pass. */
class FerrostateConformanceTest extends KeyedStateConformance<FerrostateStateBackend> {

    @Override
    protected ConfigurableStateBackend getStateBackend() throws IOException {
        return new FerrostateStateBackend(incremental)
                .setLocalDirectories(localDirectory().toString())
                .configure(new Configuration(), getClass().getClassLoader());
    }

    /** Its timers are in the database. */
    @Override
    protected boolean isSafeToReuseKVState() {
        return true;
    }
}
