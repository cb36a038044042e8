package io.ferrostate.uploads;

import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.state.rocksdb.RocksDBKeyedStateBackend;

import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

import java.lang.reflect.Field;

/** Waits for the background compactions of Flink's RocksDB backend, which has no way to ask for them. */
final class Compactions {

    private Compactions() {}

    static void await(AbstractKeyedStateBackend<?> backend) throws Exception {
        Field field = RocksDBKeyedStateBackend.class.getDeclaredField("db");
        field.setAccessible(true);
        RocksDB database = (RocksDB) field.get(backend);
        while (isBusy(database)) {
            Thread.yield();
        }
    }

    private static boolean isBusy(RocksDB database) throws RocksDBException {
        for (String property :
                new String[] {
                    "rocksdb.mem-table-flush-pending",
                    "rocksdb.num-running-flushes",
                    "rocksdb.compaction-pending",
                    "rocksdb.num-running-compactions"
                }) {
            if (database.getAggregatedLongProperty(property) != 0) {
                return true;
            }
        }
        return false;
    }
}
