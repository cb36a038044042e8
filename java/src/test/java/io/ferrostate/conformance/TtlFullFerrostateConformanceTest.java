package io.ferrostate.conformance;

import org.apache.flink.runtime.state.StateBackend;

import java.nio.file.Path;

/** As {@link TtlFerrostateConformanceTest}, restored from full checkpoints. */
class TtlFullFerrostateConformanceTest extends TtlFerrostateConformanceTest {

    @Override
    StateBackend backend(Path localDirectory) {
        return ferrostate(false, localDirectory);
    }
}
