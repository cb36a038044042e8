package io.ferrostate.conformance;

import io.ferrostate.FerrostateStateBackend;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.StateBackend;

import java.nio.file.Path;

/** On Ferrostate, restored from incremental checkpoints. */
class TtlFerrostateConformanceTest extends TtlStateConformance {

    @Override
    StateBackend backend(Path localDirectory) {
        return ferrostate(true, localDirectory);
    }

    static StateBackend ferrostate(boolean incremental, Path localDirectory) {
        return new FerrostateStateBackend(incremental)
                .setLocalDirectories(localDirectory.toString())
                .configure(
                        new Configuration(), TtlFerrostateConformanceTest.class.getClassLoader());
    }

    /** Elements that Kryo wrote. */
    @Override
    boolean compactionsKnow(String context) {
        return !context.contains("Kryo");
    }
}
