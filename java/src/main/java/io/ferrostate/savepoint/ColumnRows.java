package io.ferrostate.savepoint;

import io.ferrostate.backend.RowCursor;
import io.ferrostate.backend.ScanPage;

import org.apache.flink.runtime.state.StateSnapshotTransformer;

import java.io.IOException;
import java.util.Arrays;

/** Rows of a column family; those that the transformer drops (expired ones) are left out. */
final class ColumnRows implements StateRows {

    private final RowCursor cursor;
    private final StateSnapshotTransformer<byte[]> transformer;

    private byte[] key;
    private byte[] value;

    /**
     * @param transformer may be null.
     */
    ColumnRows(RowCursor cursor, StateSnapshotTransformer<byte[]> transformer) {
        this.cursor = cursor;
        this.transformer = transformer;
    }

    @Override
    public boolean next() throws IOException {
        while (cursor.next()) {
            ScanPage row = cursor.row();
            value = copy(row.bytes(), row.valueOffset(), row.valueLength());
            if (transformer != null) {
                value = transformer.filterOrTransform(value);
            }
            if (value != null) {
                key = copy(row.bytes(), row.keyOffset(), row.keyLength());
                return true;
            }
        }
        return false;
    }

    private static byte[] copy(byte[] bytes, int offset, int length) {
        return Arrays.copyOfRange(bytes, offset, offset + length);
    }

    @Override
    public byte[] key() {
        return key;
    }

    @Override
    public byte[] value() {
        return value;
    }

    @Override
    public void close() {
        cursor.close();
    }
}
