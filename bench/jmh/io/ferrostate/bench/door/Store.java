package io.ferrostate.bench.door;

import java.io.File;
import java.io.IOException;

/**
 * A database with one column family as Flink configures it by default, seen through one door. Keys and
 * values come and go as bytes of arrays, so that both doors do the same work in Java.
 */
interface Store extends AutoCloseable {

    static Store open(Engine engine, File directory) throws Exception {
        return engine == Engine.FERROSTATE
                ? new FerrostateStore(directory)
                : new RocksDbStore(directory);
    }

    /** First byte of the value, or -1. */
    int get(byte[] key) throws Exception;

    void put(byte[] key, byte[] value) throws Exception;

    void merge(byte[] key, byte[] operand) throws Exception;

    /** Reads every entry whose key begins with the prefix; how many there are. */
    int scan(byte[] prefix) throws Exception;

    void flush() throws Exception;

    @Override
    void close() throws IOException;
}
