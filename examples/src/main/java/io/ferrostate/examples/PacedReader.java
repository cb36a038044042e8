package io.ferrostate.examples;

import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceReader;
import org.apache.flink.core.io.InputStatus;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Reads its split no faster than {@code perSecond} flights a second (0: as fast as it goes), and
 * waits at row {@code holdAt} until this attempt has a checkpoint: on a slow machine too, there is
 * one to restore from when the job is killed behind that row. Only the pace is decided here; what is
 * read and what a checkpoint keeps is the base class's.
 */
final class PacedReader extends IteratorSourceReader<Flight, FlightsSplit.Rows, FlightsSplit> {

    private static final long PAUSE_MILLIS = 10;

    private final double perSecond;
    private final int holdAt;
    private CompletableFuture<Void> pause = CompletableFuture.completedFuture(null);
    private long firstNanos;
    private long emitted;
    private boolean hasCheckpoint;

    PacedReader(SourceReaderContext context, double perSecond, int holdAt) {
        super(context);
        this.perSecond = perSecond;
        this.holdAt = holdAt;
    }

    @Override
    public InputStatus pollNext(ReaderOutput<Flight> output) {
        if (isTooEarly() || isHeld()) {
            pause = new CompletableFuture<>();
            pause.completeOnTimeout(null, PAUSE_MILLIS, TimeUnit.MILLISECONDS);
            return InputStatus.NOTHING_AVAILABLE;
        }
        InputStatus status = super.pollNext(output);
        if (status == InputStatus.MORE_AVAILABLE) {
            emitted++;
        }
        return status;
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
        return pause.isDone() ? super.isAvailable() : pause;
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        hasCheckpoint = true;
    }

    @Override
    public void close() {}

    private boolean isHeld() {
        return !hasCheckpoint
                && iterator != null
                && iterator.hasNext()
                && iterator.position() >= holdAt;
    }

    private boolean isTooEarly() {
        if (perSecond == 0) {
            return false;
        }
        if (emitted == 0) {
            firstNanos = System.nanoTime();
        }
        return emitted > (System.nanoTime() - firstNanos) * perSecond / 1e9;
    }
}
