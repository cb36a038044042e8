package io.ferrostate.conformance;

import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;

import java.nio.file.Path;

/** The measure for {@link TimerQueueFerrostateConformanceTest}. */
class TimerQueueRocksDBBaselineTest extends TimerQueueConformance {

    @Override
    AbstractStateBackend stateBackend(Path localDirectory) {
        EmbeddedRocksDBStateBackend backend = new EmbeddedRocksDBStateBackend();
        backend.setDbStoragePath(localDirectory.toString());
        return backend;
    }
}
