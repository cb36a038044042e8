package io.ferrostate.stress;

import io.ferrostate.jni.Native;

import org.apache.flink.runtime.state.CheckpointStorageLocation;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.concurrent.RunnableFuture;

/**
 * The process that opens, fills, snapshots and disposes a backend over and over, and says after each
 * round what it holds: {@code <live handles> <threads> <resident KiB> <local directories>}.
 */
public final class DisposeRounds {

    private DisposeRounds() {}

    /** Arguments: directory, seed, rounds. */
    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        long seed = Long.parseLong(arguments[1]);
        for (int round = 0; round < Integer.parseInt(arguments[2]); round++) {
            round(directory, seed + round);
            System.gc();
            System.out.println(
                    Native.liveHandles()
                            + " " + threads() + " " + status("VmRSS")
                            + " " + directory.resolve("local").toFile().list().length);
        }
    }

    private static void round(Path directory, long seed) throws Exception {
        Path checkpointDirectory = directory.resolve("checkpoints-" + seed);
        try (CompletedCheckpoints checkpoints = new CompletedCheckpoints(checkpointDirectory);
                StressBackend backend =
                        new StressBackend(directory.resolve("local"), Collections.emptyList())) {
            RandomState state = new RandomState(seed, backend.keyed());
            state.advance(1_000);
            CheckpointStorageLocation location = checkpoints.location(1);
            RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot =
                    backend.prepareSnapshot(1, location);
            snapshot.run();
            checkpoints.complete(1, snapshot.get().getJobManagerOwnedSnapshot(), location);
            backend.keyed().notifyCheckpointComplete(1);
            state.verify();
        }
    }

    /** Without those that the JVM itself starts when it is busy: compilers, collectors. */
    private static long threads() throws IOException {
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            long count = 0;
            for (Path task : tasks) {
                if (!name(task).matches("|(C[12] Comp|G1 |GC Thread|VM ).*")) {
                    count++;
                }
            }
            return count;
        }
    }

    /** Empty for a thread that has just ended. */
    private static String name(Path task) {
        try {
            return Files.readString(task.resolve("comm")).trim();
        } catch (IOException ended) {
            return "";
        }
    }

    /** A number out of the kernel's account of this process. */
    private static long status(String name) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith(name + ":")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException("/proc/self/status has no " + name);
    }
}
