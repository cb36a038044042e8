package io.ferrostate.conformance;

import java.nio.file.Path;
import org.apache.flink.runtime.state.StateBackend;

/** The measure for {@link TtlFerrostateConformanceTest}, with incremental snapshots. */
class TtlRocksDBBaselineTest extends TtlStateConformance {

    @Override
    StateBackend backend(Path localDirectory) {
        return RocksDBSubject.create(true, localDirectory);
    }

    @Override
    boolean compactionsKnow(String context) {
        return true;
    }
}
