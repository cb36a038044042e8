package io.ferrostate.conformance;

import java.io.IOException;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;

/** What Flink's RocksDB backend passes: the measure for {@link FerrostateConformanceTest}. */
class RocksDBBaselineTest extends KeyedStateConformance<EmbeddedRocksDBStateBackend> {

    @Override
    protected ConfigurableStateBackend getStateBackend() throws IOException {
        return RocksDBSubject.create(incremental, localDirectory());
    }

    /** Its timers are in the database. */
    @Override
    protected boolean isSafeToReuseKVState() {
        return true;
    }
}
