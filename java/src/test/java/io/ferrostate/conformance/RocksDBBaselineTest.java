package io.ferrostate.conformance;

import java.io.IOException;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend.PriorityQueueStateType;
import org.apache.flink.state.rocksdb.RocksDBOptions;

/** What Flink's RocksDB backend passes: the measure for {@link FerrostateConformanceTest}. */
class RocksDBBaselineTest extends KeyedStateConformance<EmbeddedRocksDBStateBackend> {

    @Override
    protected ConfigurableStateBackend getStateBackend() throws IOException {
        Configuration configuration = new Configuration();
        configuration.set(RocksDBOptions.TIMER_SERVICE_FACTORY, PriorityQueueStateType.ROCKSDB);
        EmbeddedRocksDBStateBackend backend =
                new EmbeddedRocksDBStateBackend(incremental)
                        .configure(configuration, getClass().getClassLoader());
        backend.setDbStoragePath(localDirectory().toString());
        return backend;
    }

    /** Its timers are in the database. */
    @Override
    protected boolean isSafeToReuseKVState() {
        return true;
    }
}
