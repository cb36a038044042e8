package io.ferrostate.backend;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The open scans of one backend, so that those that users forget are closed with it. */
public final class Cursors implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Cursors.class);

    private final Set<RowCursor> open = Collections.newSetFromMap(new ConcurrentHashMap<>());

    public RowCursor open(Column column, boolean keysOnly) throws IOException {
        return add(RowCursor.ofAll(this, column, keysOnly));
    }

    /** The timers of a key group; null if there are none. */
    public RowCursor openTimers(Column column, int keyGroup) throws IOException {
        RowCursor cursor = RowCursor.ofTimers(this, column, keyGroup);
        return cursor == null ? null : add(cursor);
    }

    private RowCursor add(RowCursor cursor) {
        open.add(cursor);
        return cursor;
    }

    void remove(RowCursor cursor) {
        open.remove(cursor);
    }

    @Override
    public void close() {
        if (!open.isEmpty()) {
            LOG.info("Closing {} scans that were left open.", open.size());
            new ArrayList<>(open).forEach(RowCursor::close);
        }
    }
}
