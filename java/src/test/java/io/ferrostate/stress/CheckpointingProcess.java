package io.ferrostate.stress;

import org.apache.flink.runtime.state.CheckpointStorageLocation;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;

import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Optional;
import java.util.concurrent.RunnableFuture;

/**
 * The process that is killed: restores the last completed checkpoint, checks every row of it, then
 * changes state and checkpoints until it is no more. Says what it does in lines on stdout: {@code
 * restored <id>}, {@code local <directories>}, {@code async <id>}, {@code completed <id>}.
 */
public final class CheckpointingProcess {

    private static final int OPERATIONS = 2_000;

    private CheckpointingProcess() {}

    /** Arguments: directory, seed, number of checkpoints to take before it ends by itself. */
    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        long seed = Long.parseLong(arguments[1]);
        long limit = Long.parseLong(arguments[2]);
        Path local = directory.resolve("local");
        try (CompletedCheckpoints checkpoints =
                new CompletedCheckpoints(directory.resolve("checkpoints"))) {
            Optional<CompletedCheckpoints.Completed> last = checkpoints.takeOverLast();
            try (StressBackend backend =
                    new StressBackend(
                            local,
                            last.map(l -> Collections.singletonList(l.handle))
                                    .orElse(Collections.emptyList()))) {
                RandomState state = new RandomState(seed, backend.keyed());
                state.restore();
                long id = last.map(l -> l.id).orElse(0L);
                say("restored " + id);
                say("local " + directories(local));
                for (long taken = 0; taken < limit; taken++) {
                    state.advance(OPERATIONS);
                    checkpoint(++id, backend, checkpoints);
                }
                state.verify();
            }
        }
        say("ended");
    }

    private static void checkpoint(
            long id, StressBackend backend, CompletedCheckpoints checkpoints) throws Exception {
        CheckpointStorageLocation location = checkpoints.location(id);
        RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot =
                backend.prepareSnapshot(id, location);
        say("async " + id);
        snapshot.run();
        checkpoints.complete(id, snapshot.get().getJobManagerOwnedSnapshot(), location);
        say("completed " + id);
        backend.keyed().notifyCheckpointComplete(id);
    }

    private static int directories(Path local) throws Exception {
        int count = 0;
        try (DirectoryStream<Path> found = Files.newDirectoryStream(local, Files::isDirectory)) {
            for (Path ignored : found) {
                count++;
            }
        }
        return count;
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
