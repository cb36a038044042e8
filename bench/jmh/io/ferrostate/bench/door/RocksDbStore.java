package io.ferrostate.bench.door;

import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Through RocksDB's own JNI, called as Flink's RocksDB backend calls it. */
final class RocksDbStore implements Store {

    static {
        RocksDB.loadLibrary();
    }

    private final DBOptions options;
    private final ColumnFamilyOptions familyOptions;
    private final ReadOptions readOptions = new ReadOptions().setTotalOrderSeek(true);
    private final WriteOptions writeOptions = new WriteOptions().setDisableWAL(true);
    private final RocksDB database;
    private final List<ColumnFamilyHandle> families = new ArrayList<>();
    private final ColumnFamilyHandle family;

    RocksDbStore(File directory) throws RocksDBException {
        options =
                new DBOptions()
                        .setCreateIfMissing(true)
                        .setCreateMissingColumnFamilies(true)
                        .setAvoidFlushDuringShutdown(true)
                        .setStatsDumpPeriodSec(0)
                        .setMaxBackgroundJobs(2)
                        .setMaxOpenFiles(-1);
        familyOptions = new ColumnFamilyOptions().setMergeOperatorName("stringappendtest");
        database = RocksDB.open(options, directory.getPath(), descriptors(), families);
        family = families.get(1);
    }

    private List<ColumnFamilyDescriptor> descriptors() {
        return Arrays.asList(
                new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, familyOptions),
                new ColumnFamilyDescriptor("state".getBytes(StandardCharsets.UTF_8), familyOptions));
    }

    @Override
    public int get(byte[] key) throws RocksDBException {
        byte[] value = database.get(family, readOptions, key);
        return value == null ? -1 : value[0];
    }

    @Override
    public void put(byte[] key, byte[] value) throws RocksDBException {
        database.put(family, writeOptions, key, value);
    }

    @Override
    public void merge(byte[] key, byte[] operand) throws RocksDBException {
        database.merge(family, writeOptions, key, operand);
    }

    @Override
    public int scan(byte[] prefix) throws RocksDBException {
        int count = 0;
        try (RocksIterator iterator = database.newIterator(family, readOptions)) {
            iterator.seek(prefix);
            while (iterator.isValid()) {
                byte[] key = iterator.key();
                byte[] value = iterator.value();
                if (!begins(key, prefix) || value.length == 0) {
                    break;
                }
                count++;
                iterator.next();
            }
            iterator.status();
        }
        return count;
    }

    private static boolean begins(byte[] key, byte[] prefix) {
        return Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length);
    }

    @Override
    public void flush() throws RocksDBException {
        try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
            database.flush(flush, families);
        }
    }

    @Override
    public void close() {
        families.forEach(ColumnFamilyHandle::close);
        database.close();
        familyOptions.close();
        options.close();
        readOptions.close();
        writeOptions.close();
    }
}
