package io.ferrostate.checkpoint;

import io.ferrostate.jni.CancelToken;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.StateObject;
import org.apache.flink.runtime.state.StreamStateHandle;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;

/**
 * Makes an asynchronous snapshot all or nothing: everything it created is discarded again unless
 * {@link #commit()} was reached, and cancelling ends what blocks.
 */
final class SnapshotGuard implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(SnapshotGuard.class);

    private final CloseableRegistry registry;
    private final CancelToken cancel;
    private final List<StateObject> created = new ArrayList<>();
    private boolean committed;

    /** @param registry the snapshot's, closed by Flink on cancellation. */
    SnapshotGuard(CloseableRegistry registry) throws IOException {
        this.registry = registry;
        this.cancel = CancelToken.registeredIn(registry);
    }

    /** The flag for long native calls. */
    long cancel() {
        return cancel.handle();
    }

    /** Where what blocks is closed on cancellation. */
    CloseableRegistry registry() {
        return registry;
    }

    boolean isCancelled() {
        return cancel.isTriggered();
    }

    /** Has a stream closed on cancellation, until {@link #takeBack}. */
    void closeOnCancel(Closeable stream) throws IOException {
        registry.registerCloseable(stream);
    }

    /** True if the stream was not closed by a cancellation and now belongs to the caller. */
    boolean takeBack(Closeable stream) {
        return registry.unregisterCloseable(stream);
    }

    /** Remembers what has to go if the snapshot fails. */
    synchronized <T extends StateObject> T created(T state) {
        created.add(state);
        return state;
    }

    /** The point of no return: from here on what was created belongs to Flink. */
    synchronized void commit() {
        if (!cancel.release()) {
            throw new CancellationException("The snapshot was cancelled.");
        }
        committed = true;
    }

    /**
     * Discards what was created. To be called when no other thread works for this snapshot any more.
     *
     * @return a sentence that says what became of it.
     */
    synchronized String undo() {
        List<String> left = new ArrayList<>();
        for (StateObject state : created) {
            try {
                state.discardState();
            } catch (Exception kept) {
                LOG.warn("Could not delete {} of a snapshot that failed.", nameOf(state), kept);
                left.add(nameOf(state));
            }
        }
        created.clear();
        return left.isEmpty()
                ? "What it had uploaded before is deleted again."
                : "Could not delete what it had uploaded before: " + String.join(", ", left) + '.';
    }

    private static String nameOf(StateObject state) {
        if (state instanceof SnapshotResult) {
            return nameOf(((SnapshotResult<?>) state).getJobManagerOwnedSnapshot());
        }
        return state instanceof StreamStateHandle
                ? ((StreamStateHandle) state).getStreamStateHandleID().getKeyString()
                : String.valueOf(state);
    }

    /** To be called when no other thread works for this snapshot any more. */
    @Override
    public synchronized void close() {
        cancel.close();
        if (!committed) {
            undo();
        }
    }
}
