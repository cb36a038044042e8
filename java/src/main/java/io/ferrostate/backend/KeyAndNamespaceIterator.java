package io.ferrostate.backend;

import org.apache.flink.api.java.tuple.Tuple2;

import java.io.IOException;
import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;

/** Each key and namespace of one state, once. */
final class KeyAndNamespaceIterator<K, N> implements Iterator<Tuple2<K, N>>, AutoCloseable {

    private final String state;
    private final RowKeys<K, N> keys;
    private final RowCursor cursor;

    private Tuple2<K, N> next;
    private Tuple2<K, N> previous;
    private boolean ended;

    KeyAndNamespaceIterator(String state, RowKeys<K, N> keys, RowCursor cursor) {
        this.state = state;
        this.keys = keys;
        this.cursor = cursor;
    }

    @Override
    public boolean hasNext() {
        try {
            while (next == null && !ended) {
                if (cursor.next()) {
                    Tuple2<K, N> row = Tuple2.of(keys.key(cursor.row()), keys.namespace());
                    if (!row.equals(previous)) {
                        previous = row;
                        next = row;
                    }
                } else {
                    ended = true;
                    cursor.close();
                }
            }
        } catch (IOException e) {
            throw KeyStreams.failed(Collections.singletonList(state), e);
        }
        return next != null;
    }

    @Override
    public Tuple2<K, N> next() {
        if (!hasNext()) {
            throw new NoSuchElementException("No further key in state '" + state + "'");
        }
        Tuple2<K, N> row = next;
        next = null;
        return row;
    }

    @Override
    public void close() {
        cursor.close();
    }
}
