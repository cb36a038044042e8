package io.ferrostate.conformance;

import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend.PriorityQueueStateType;
import org.apache.flink.state.rocksdb.RocksDBOptions;

/** Flink's RocksDB backend as the baselines measure it: with timers in the database. */
final class RocksDBSubject {

    private RocksDBSubject() {}

    static EmbeddedRocksDBStateBackend create(boolean incremental, Path localDirectory) {
        Configuration configuration = new Configuration();
        configuration.set(RocksDBOptions.TIMER_SERVICE_FACTORY, PriorityQueueStateType.ROCKSDB);
        EmbeddedRocksDBStateBackend backend =
                new EmbeddedRocksDBStateBackend(incremental)
                        .configure(configuration, RocksDBSubject.class.getClassLoader());
        backend.setDbStoragePath(localDirectory.toString());
        return backend;
    }
}
