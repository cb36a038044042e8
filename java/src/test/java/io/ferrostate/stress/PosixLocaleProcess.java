package io.ferrostate.stress;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.checkpoint.BackendFixture;
import io.ferrostate.checkpoint.CheckpointFiles;
import io.ferrostate.checkpoint.IncrementalSnapshotStrategy;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageAccess;

import java.io.IOException;

/** The process of {@link PosixLocaleTest}: a checkpoint under a path that is not ASCII. */
public final class PosixLocaleProcess {

    private static final String LETTERS = "\u00e4\u20ac";

    private PosixLocaleProcess() {}

    public static void main(String[] arguments) throws Exception {
        String root = arguments[0];
        say(openIn(root + "/local" + LETTERS));
        FsCheckpointStorageAccess storage =
                new FsCheckpointStorageAccess(
                        new Path("file://" + root + "/storage/" + LETTERS), null, new JobID(), 0, 4096);
        storage.initializeBaseLocationsForCheckpoint();
        java.nio.file.Path local = java.nio.file.Path.of(root, "local");
        IncrementalRemoteKeyedStateHandle checkpoint;
        try (BackendFixture backend = BackendFixture.fresh(local);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            checkpoint =
                    BackendFixture.snapshot(
                            strategy,
                            1,
                            storage.initializeLocationForCheckpoint(1),
                            CheckpointFiles.CHECKPOINT);
        }
        try (BackendFixture backend =
                BackendFixture.restored(local, BackendFixture.ALL, checkpoint)) {
            say("restored " + backend.has(1, 1));
        }
        say(Long.toString(checkpoint.streamSubHandles().count()));
        System.in.read();
        checkpoint.discardState();
        say("discarded");
    }

    /** The library would make another directory than the JVM sees. */
    private static String openIn(String localDirectory) throws Exception {
        try (KeyedBackends backends = new KeyedBackends()) {
            backends.create(
                            new FerrostateStateBackend().setLocalDirectories(localDirectory),
                            IntSerializer.INSTANCE,
                            BackendFixture.KEY_GROUPS)
                    .dispose();
            return "opened localdir";
        } catch (IOException refused) {
            return refused.getMessage().contains("UTF-8 locale") ? "refused localdir" : "" + refused;
        }
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
