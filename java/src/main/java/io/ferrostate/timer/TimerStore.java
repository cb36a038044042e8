package io.ferrostate.timer;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.Cursors;
import io.ferrostate.backend.RowCursor;
import io.ferrostate.backend.ScanPage;
import io.ferrostate.backend.StateAccess;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.util.FlinkRuntimeException;

import java.io.IOException;

/**
 * The column family of one timer queue: timers to bytes and back, the batch of changes in front of it,
 * reading pages. Which timers are looked for is the business of {@link KeyGroupQueue}.
 */
final class TimerStore<T> {

    private static final int INITIAL_CAPACITY = 128;

    /** A buffer that a very large timer left behind is not kept. */
    private static final int KEEP_CAPACITY = 1 << 20;

    private final Column column;
    private final StateAccess<?> access;
    private final Cursors cursors;
    private final TimerBatch batch = new TimerBatch();
    private final DataInputDeserializer input = new DataInputDeserializer();
    private DataOutputSerializer output = new DataOutputSerializer(INITIAL_CAPACITY);
    private TypeSerializer<T> serializer;

    TimerStore(
            Column column, TypeSerializer<T> serializer, StateAccess<?> access, Cursors cursors) {
        this.column = column;
        this.serializer = serializer;
        this.access = access;
        this.cursors = cursors;
    }

    void useSerializer(TypeSerializer<T> changed) {
        serializer = changed;
    }

    /**
     * Begins a use: changes, reading and flushing stand between it and {@link #exit}. Throws while
     * another one goes on and after the backend's end.
     */
    void enter() {
        access.enter();
    }

    void exit() {
        access.exit();
    }

    // ---- bytes ---------------------------------------------------------------------------------

    /** Serializes a timer behind its key group into {@link #bytes}, and returns how many they are. */
    int serialize(byte[] keyGroup, T timer) {
        try {
            if (output.getSharedBuffer().length > KEEP_CAPACITY) {
                output = new DataOutputSerializer(INITIAL_CAPACITY);
            }
            output.clear();
            output.write(keyGroup);
            serializer.serialize(timer, output);
            return output.length();
        } catch (IOException e) {
            throw failed("serialize a timer", e);
        }
    }

    /** What was serialized last; good until the next time. */
    byte[] bytes() {
        return output.getSharedBuffer();
    }

    T deserialize(byte[] bytes, int offset, int length) {
        try {
            input.setBuffer(bytes, offset, length);
            return serializer.deserialize(input);
        } catch (IOException e) {
            throw failed("deserialize a timer", e);
        }
    }

    // ---- changes -------------------------------------------------------------------------------

    /** @param absent the timer is known not to exist. */
    void add(byte[] timer, int length, boolean absent) {
        writeIfFull();
        batch.add(timer, length, absent);
    }

    void remove(byte[] timer, int length) {
        writeIfFull();
        batch.remove(timer, length);
    }

    /** Number of the batch that changes go into: one more each time a batch is written. */
    long batch() {
        return batch.generation();
    }

    private void writeIfFull() {
        if (batch.isFull()) {
            flush();
        }
    }

    /** Writes the changes; should that fail they are kept. */
    void flush() {
        if (batch.hasChanges()) {
            try {
                access.writeTimers(column, batch.entries(), batch.length());
            } catch (IOException e) {
                throw failed("write timers", e);
            }
        }
        batch.clear();
    }

    // ---- reading: what is written, so that most callers flush first ------------------------------

    /** So many timers of a key group at most, from a position on. */
    ScanPage scan(byte[] from, int keyGroupBytes, int max) {
        try {
            return access.scanTimers(column, from, keyGroupBytes, max);
        } catch (IOException e) {
            throw failed("read timers", e);
        }
    }

    /** All timers of a key group from a position on, as they are now. */
    RowCursor cursor(byte[] from, int keyGroupBytes) {
        try {
            return cursors.openTimers(column, from, keyGroupBytes);
        } catch (IOException e) {
            throw failed("read timers", e);
        }
    }

    FlinkRuntimeException failed(String step, Exception cause) {
        return new FlinkRuntimeException(
                "Could not " + step + " of '" + column.name() + "': " + cause.getMessage(), cause);
    }
}
