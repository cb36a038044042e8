package io.ferrostate.checkpoint;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResources;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategy;
import org.apache.flink.runtime.state.StateUtil;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Closes a gap of Flink's: a snapshot's future that is cancelled after its work is done, but before it
 * has taken the result, loses that result, and what was uploaded would stay for ever. Stands around the
 * strategy to see each result, and around the future to see whether it was taken. For one snapshot.
 */
public final class SnapshotHandover<R extends SnapshotResources>
        implements SnapshotStrategy<KeyedStateHandle, R> {

    private final SnapshotStrategy<KeyedStateHandle, R> strategy;

    /** Written and read by the thread that runs the future. */
    private SnapshotResult<KeyedStateHandle> result;

    public SnapshotHandover(SnapshotStrategy<KeyedStateHandle, R> strategy) {
        this.strategy = strategy;
    }

    @Override
    public R syncPrepareResources(long checkpointId) throws Exception {
        return strategy.syncPrepareResources(checkpointId);
    }

    @Override
    public SnapshotResultSupplier<KeyedStateHandle> asyncSnapshot(
            R resources,
            long checkpointId,
            long timestamp,
            CheckpointStreamFactory factory,
            CheckpointOptions options) {
        SnapshotResultSupplier<KeyedStateHandle> snapshot =
                strategy.asyncSnapshot(resources, checkpointId, timestamp, factory, options);
        return registry -> {
            result = snapshot.get(registry);
            return result;
        };
    }

    /** The future that runs this strategy. */
    public RunnableFuture<SnapshotResult<KeyedStateHandle>> around(
            RunnableFuture<SnapshotResult<KeyedStateHandle>> future) {
        return new Handover(future);
    }

    private final class Handover implements RunnableFuture<SnapshotResult<KeyedStateHandle>> {

        private final RunnableFuture<SnapshotResult<KeyedStateHandle>> future;

        private Handover(RunnableFuture<SnapshotResult<KeyedStateHandle>> future) {
            this.future = future;
        }

        @Override
        public void run() {
            future.run();
            // From here on nobody can cancel it any more, or somebody has.
            if (future.isCancelled() && result != null) {
                StateUtil.discardStateObjectQuietly(result);
            }
        }

        @Override
        public boolean cancel(boolean mayInterruptIfRunning) {
            return future.cancel(mayInterruptIfRunning);
        }

        @Override
        public boolean isCancelled() {
            return future.isCancelled();
        }

        @Override
        public boolean isDone() {
            return future.isDone();
        }

        @Override
        public SnapshotResult<KeyedStateHandle> get()
                throws InterruptedException, ExecutionException {
            return future.get();
        }

        @Override
        public SnapshotResult<KeyedStateHandle> get(long timeout, TimeUnit unit)
                throws InterruptedException, ExecutionException, TimeoutException {
            return future.get(timeout, unit);
        }
    }
}
