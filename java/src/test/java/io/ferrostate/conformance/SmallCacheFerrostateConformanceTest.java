package io.ferrostate.conformance;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;

import org.apache.flink.runtime.state.AbstractStateBackend;

import java.nio.file.Path;

/** Flink's tests of a timer queue on Ferrostate's, with memory for hardly any timer. */
class SmallCacheFerrostateConformanceTest extends TimerQueueConformance {

    @Override
    AbstractStateBackend stateBackend(Path localDirectory) {
        return new FerrostateStateBackend()
                .setLocalDirectories(localDirectory.toString())
                .set(FerrostateOptions.BUFFER_MEMORY_RATIO, 1e-9)
                .set(FerrostateOptions.TIMER_SERVICE_CACHE_SIZE, 2);
    }
}
