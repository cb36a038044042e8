package io.ferrostate.backend;

import org.apache.flink.util.IOUtils;

import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;

/** Merges the rows of several states in byte order and returns each key with the namespace once. */
final class KeyIterator<K> implements Iterator<K>, AutoCloseable {

    /** The rows of one state, standing at one of them. */
    static final class Source<K> implements AutoCloseable {

        private final RowKeys<K, ?> keys;
        private final RowCursor cursor;
        private boolean valid;

        Source(RowKeys<K, ?> keys, RowCursor cursor) throws IOException {
            this.keys = keys;
            this.cursor = cursor;
            advance();
        }

        private void advance() throws IOException {
            valid = cursor.next();
            if (!valid) {
                cursor.close();
            }
        }

        private boolean isBefore(Source<K> other) {
            if (other == null) {
                return true;
            }
            ScanPage left = cursor.row();
            ScanPage right = other.cursor.row();
            return Arrays.compareUnsigned(
                            left.bytes(),
                            left.keyOffset(),
                            left.keyOffset() + left.keyLength(),
                            right.bytes(),
                            right.keyOffset(),
                            right.keyOffset() + right.keyLength())
                    < 0;
        }

        @Override
        public void close() {
            cursor.close();
        }
    }

    private final List<String> states;
    private final List<Source<K>> sources;
    private final byte[] namespace;

    private K next;
    private K previous;

    KeyIterator(List<String> states, List<Source<K>> sources, byte[] namespace) {
        this.states = states;
        this.sources = sources;
        this.namespace = namespace;
    }

    @Override
    public boolean hasNext() {
        try {
            Source<K> first;
            while (next == null && (first = first()) != null) {
                K key = first.keys.key(first.cursor.row());
                if (first.keys.namespaceIs(namespace, first.cursor.row())
                        && !Objects.equals(previous, key)) {
                    previous = key;
                    next = key;
                }
                first.advance();
            }
        } catch (IOException e) {
            throw KeyStreams.failed(states, e);
        }
        return next != null;
    }

    private Source<K> first() {
        Source<K> first = null;
        for (Source<K> source : sources) {
            if (source.valid && source.isBefore(first)) {
                first = source;
            }
        }
        return first;
    }

    @Override
    public K next() {
        if (!hasNext()) {
            throw new NoSuchElementException("No further key in states " + states);
        }
        K key = next;
        next = null;
        return key;
    }

    @Override
    public void close() {
        IOUtils.closeAllQuietly(sources);
    }
}
