package io.ferrostate.conformance;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.TimerService;
import io.ferrostate.FerrostateStateBackend;
import java.io.IOException;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.ConfigurableStateBackend;

/** As {@link FerrostateConformanceTest}, with timers on the heap. */
class HeapTimersFerrostateConformanceTest extends KeyedStateConformance<FerrostateStateBackend> {

    @Override
    protected ConfigurableStateBackend getStateBackend() throws IOException {
        return new FerrostateStateBackend(incremental)
                .setLocalDirectories(localDirectory().toString())
                .set(FerrostateOptions.TIMER_SERVICE_FACTORY, TimerService.HEAP)
                .configure(new Configuration(), getClass().getClassLoader());
    }

    /** As for Flink's RocksDB backend with timers on the heap, which hold on to key objects. */
    @Override
    protected boolean isSafeToReuseKVState() {
        return false;
    }
}
