package io.ferrostate.checkpoint;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotDirectory;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.ExceptionUtils;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Snapshots that consist of the database's files. This base does the synchronous part: hard links
 * of a consistent set of files. Which files are shared and reused is up to the subclasses.
 */
abstract class NativeSnapshotStrategy<K> implements CheckpointStrategy<NativeSnapshotResources> {

    private final SnapshotContext<K> context;

    NativeSnapshotStrategy(SnapshotContext<K> context) {
        this.context = context;
    }

    /** Freezes what may be reused or copied. */
    abstract Ledger.Base freezeBase();

    /** How files of a snapshot with these options are placed and remembered. */
    abstract SnapshotMode mode(NativeSnapshotResources resources, CheckpointOptions options);

    @Override
    public final NativeSnapshotResources syncPrepareResources(long checkpointId)
            throws IOException {
        long started = System.nanoTime();
        List<StateMetaInfoSnapshot> states = context.stateMetaInfos();
        SnapshotDirectory directory = SnapshotDirectories.prepare(context, checkpointId);
        Ledger.Base base = null;
        try {
            base = freezeBase();
            if (!states.isEmpty()) {
                context.database().checkpoint(directory.getDirectory().toFile());
            }
            return new NativeSnapshotResources(directory, states, base, millisSince(started));
        } catch (IOException | RuntimeException failure) {
            throw cleanedUp(directory, base, failure);
        }
    }

    private static IOException cleanedUp(
            SnapshotDirectory directory, Ledger.Base base, Exception failure) {
        if (base != null) {
            base.close();
        }
        Exception all = failure;
        try {
            directory.cleanup();
        } catch (IOException kept) {
            all = ExceptionUtils.firstOrSuppressed(kept, failure);
        }
        return new IOException(
                "The local checkpoint in " + directory.getDirectory() + " failed: "
                        + failure.getMessage(),
                all);
    }

    @Override
    public final SnapshotResultSupplier<KeyedStateHandle> asyncSnapshot(
            NativeSnapshotResources resources,
            long checkpointId,
            long timestamp,
            CheckpointStreamFactory factory,
            CheckpointOptions options) {
        if (resources.states().isEmpty()) {
            return registry -> SnapshotResult.empty();
        }
        return new SnapshotOperation<>(
                context, mode(resources, options), resources, checkpointId, factory);
    }

    static long millisSince(long startedNanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNanos);
    }
}
