package io.ferrostate.conformance;

import java.nio.file.Path;
import org.apache.flink.runtime.state.StateBackend;

/** As {@link TtlRocksDBBaselineTest}, restored from full checkpoints. */
class TtlFullRocksDBBaselineTest extends TtlRocksDBBaselineTest {

    @Override
    StateBackend backend(Path localDirectory) {
        return RocksDBSubject.create(false, localDirectory);
    }
}
