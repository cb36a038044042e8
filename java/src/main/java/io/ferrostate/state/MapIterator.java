package io.ferrostate.state;

import io.ferrostate.backend.ScanPage;

import org.apache.flink.core.memory.DataInputDeserializer;

import java.io.IOException;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Walks over the entries of one key and namespace, a page of entries at a time. It holds nothing that
 * would have to be closed. Entries written after their page was read are not seen, those removed are
 * still returned.
 */
abstract class MapIterator<K, UK, UV, T> implements Iterator<T> {

    private final MapStateImpl<K, ?, UK, UV> state;
    private final byte[] prefix;
    private final DataInputDeserializer input = new DataInputDeserializer();

    private ScanPage page;
    private MapEntry<K, UK, UV> current;

    MapIterator(MapStateImpl<K, ?, UK, UV> state, byte[] prefix) {
        this.state = state;
        this.prefix = prefix;
    }

    @Override
    public boolean hasNext() {
        if (page == null) {
            page = scan(prefix, 0, prefix.length, false);
        }
        // The last entry of the page is the current position, removed or not.
        while (!page.hasNext() && page.more() && !page.isEmpty()) {
            page = scan(page.bytes(), page.keyOffset(), page.keyLength(), true);
        }
        return page.hasNext();
    }

    final MapEntry<K, UK, UV> nextEntry() {
        if (!hasNext()) {
            throw new NoSuchElementException("No further entry in state '" + state.name() + "'.");
        }
        page.next();
        current = new MapEntry<>(state, input, page, prefix.length);
        return current;
    }

    @Override
    public void remove() {
        if (current == null || current.isRemoved()) {
            throw new IllegalStateException(
                    "The remove operation must be called after a valid next operation.");
        }
        current.remove();
    }

    private ScanPage scan(byte[] from, int offset, int length, boolean afterFrom) {
        state.access().enter();
        try {
            return state.access()
                    .scanMap(state.column(), from, offset, length, prefix.length, afterFrom);
        } catch (IOException e) {
            throw state.failed("iterate", e);
        } finally {
            state.access().exit();
        }
    }
}
