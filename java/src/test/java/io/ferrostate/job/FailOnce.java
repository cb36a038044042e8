package io.ferrostate.job;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiter;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;

/**
 * One failure of a job in this JVM, after a checkpoint and in the middle of its input, whatever the
 * machine's speed: sources stop at {@link #gate} until the failure has happened, which happens when
 * the checkpoint is confirmed. One job at a time.
 */
public final class FailOnce {

    private static volatile CompletableFuture<Void> failure =
            CompletableFuture.completedFuture(null);
    private static int checkpoints;

    private FailOnce() {}

    /** The next job fails on its {@code checkpoints}-th confirmation. */
    public static synchronized void arm(int checkpoints) {
        FailOnce.checkpoints = checkpoints;
        failure = new CompletableFuture<>();
    }

    /** The next job neither fails nor gets past the gate, until it is {@link #release()}d. */
    public static void hold() {
        arm(Integer.MAX_VALUE);
    }

    public static synchronized void release() {
        failure.complete(null);
    }

    public static boolean happened() {
        return failure.isDone();
    }

    /** To be called in {@code notifyCheckpointComplete} of one subtask at least. */
    public static synchronized void confirmed() {
        if (!failure.isDone() && --checkpoints <= 0) {
            failure.complete(null);
            throw new IllegalStateException("induced failure");
        }
    }

    /** Lets so many records of each source reader through, and the rest after the failure. */
    public static <S extends SourceSplit> RateLimiterStrategy<S> gate(int records) {
        return parallelism -> new Gate<>(records);
    }

    /** Passes everything on and fails the job once. */
    public static <T> RichMapFunction<T, T> mapper() {
        return new Mapper<>();
    }

    private static final class Gate<S extends SourceSplit> implements RateLimiter<S> {
        private int left;

        Gate(int records) {
            this.left = records;
        }

        @Override
        public CompletionStage<Void> acquire(int records) {
            left -= records;
            return left >= 0 ? CompletableFuture.completedFuture(null) : failure;
        }
    }

    private static final class Mapper<T> extends RichMapFunction<T, T>
            implements CheckpointListener {
        private static final long serialVersionUID = 1L;

        @Override
        public T map(T value) {
            return value;
        }

        @Override
        public void notifyCheckpointComplete(long checkpointId) {
            confirmed();
        }
    }
}
