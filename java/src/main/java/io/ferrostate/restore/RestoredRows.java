package io.ferrostate.restore;

import io.ferrostate.backend.BulkLoad;
import io.ferrostate.backend.Column;
import io.ferrostate.backend.RegisteredState;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.Page;

import org.apache.flink.util.IOUtils;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/**
 * Writes the rows of one savepoint into the states' column families. Rows that come in the order of
 * their keys, as from any database, become files; those that do not, as from the heap within a key
 * group, are put one by one. No key comes twice, so it does not matter which is first.
 */
final class RestoredRows implements AutoCloseable {

    private static final int PAGE_CAPACITY = 1 << 12;

    private final Column[] columns;

    /** The loads of the states that had rows. */
    private final BulkLoad[] loads;

    /** The largest key of each load. */
    private final byte[][] last;

    private final Page keyPage = new Page(PAGE_CAPACITY);
    private final Page valuePage = new Page(PAGE_CAPACITY);

    RestoredRows(List<RegisteredState> states) {
        columns = states.stream().map(RegisteredState::column).toArray(Column[]::new);
        loads = new BulkLoad[columns.length];
        last = new byte[columns.length][];
    }

    int states() {
        return columns.length;
    }

    void add(int state, byte[] key, byte[] value) throws IOException {
        if (loads[state] == null) {
            loads[state] = new BulkLoad(columns[state]);
        } else if (Arrays.compareUnsigned(key, last[state]) <= 0) {
            put(columns[state], key, value);
            return;
        }
        loads[state].add(key, 0, key.length, value, 0, value.length);
        last[state] = key;
    }

    private void put(Column column, byte[] key, byte[] value) throws IOException {
        keyPage.write(0, key, 0, key.length);
        valuePage.write(0, value, 0, value.length);
        Native.put(
                column.handle(),
                keyPage.address(),
                key.length,
                0,
                valuePage.address(),
                value.length);
    }

    /** Makes all rows part of the column families. */
    void finish() throws IOException {
        for (BulkLoad load : loads) {
            if (load != null) {
                load.ingest();
            }
        }
    }

    @Override
    public void close() {
        IOUtils.closeAllQuietly(loads);
        keyPage.close();
        valuePage.close();
    }
}
