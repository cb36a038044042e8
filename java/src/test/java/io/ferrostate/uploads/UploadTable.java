package io.ferrostate.uploads;

import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.runtime.state.KeyedStateHandle;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Prints what native savepoints upload, and what the first checkpoint does after each kind of restore,
 * Ferrostate beside Flink's RocksDB backend on the same files. Run by {@code bench/run uploads}.
 *
 * <p>Arguments: {@code --size=<MiB> --only=savepoints --scratch=<folder>}.
 */
public final class UploadTable {

    private static final int[][] RESCALES = {{1, 1}, {1, 2}, {2, 1}, {2, 3}};

    private UploadTable() {}

    public static void main(String[] arguments) throws Exception {
        long size = 64;
        boolean onlySavepoints = false;
        Path scratch = Path.of(System.getProperty("java.io.tmpdir"));
        for (String argument : arguments) {
            String value = argument.substring(argument.indexOf('=') + 1);
            if (argument.startsWith("--size=")) {
                size = Long.parseLong(value);
            } else if (argument.equals("--only=savepoints")) {
                onlySavepoints = true;
            } else if (argument.startsWith("--scratch=")) {
                scratch = Path.of(value);
            } else {
                throw new IllegalArgumentException("Unknown argument " + argument);
            }
        }
        NativeLibrary.load();
        printSavepoints(size, scratch.resolve("savepoints"));
        if (!onlySavepoints) {
            printRestores(size, scratch);
        }
    }

    private static void printSavepoints(long size, Path directory) throws Exception {
        System.out.printf(
                "A native savepoint of %d MiB: seconds, MB uploaded (+ copied in the store)%n%n", size);
        System.out.printf(
                "| %-19s | %-24s | %-24s |%n| --- | --- | --- |%n",
                "", "without a checkpoint", "after a checkpoint");
        for (Contender contender : List.of(Contender.FERROSTATE, Contender.ROCKSDB)) {
            try (Uploads uploads = new Uploads(directory.resolve(contender.name()), size << 20)) {
                Uploads.Savepoint[] taken = uploads.nativeSavepoints(contender);
                System.out.printf(
                        "| %-19s | %-24s | %-24s |%n",
                        contender.title, cell(taken[0]), cell(taken[1]));
            }
        }
        System.out.println();
    }

    private static String cell(Uploads.Savepoint savepoint) {
        return String.format(
                Locale.ROOT,
                "%.2f s, %.1f (+ %.1f)",
                savepoint.seconds,
                savepoint.moved.uploaded / 1e6,
                savepoint.moved.duplicated / 1e6);
    }

    private static void printRestores(long size, Path scratch) throws Exception {
        System.out.printf(
                "MB that the first checkpoint uploads (+ copies in the store | refers to) after a restore"
                        + " of %d MiB%n%n",
                size);
        System.out.printf("| %-19s | %-8s | %-6s |", "restored from", "claim", "");
        for (Contender contender : Contender.values()) {
            System.out.printf(" %-22s |", contender.title);
        }
        System.out.println("\n| --- | --- | --- | --- | --- | --- | --- |");
        for (Restored kind : Restored.values()) {
            rows(kind, size << 20, scratch.resolve(kind.name()));
        }
    }

    private static void rows(Restored kind, long bytes, Path directory) throws Exception {
        for (int[] rescale : RESCALES) {
            Path own = directory.resolve(rescale[0] + "-" + rescale[1]);
            try (Uploads uploads = new Uploads(own, bytes)) {
                List<KeyedStateHandle> from = uploads.written(kind, rescale[0]);
                for (boolean claim : new boolean[] {true, false}) {
                    System.out.printf(
                            "| %-19s | %-8s | %-6s |",
                            kind.title,
                            claim ? "CLAIM" : "NO_CLAIM",
                            rescale[0] + " to " + rescale[1]);
                    for (Contender contender : Contender.values()) {
                        Moved moved =
                                uploads.firstCheckpoint(contender, from, rescale[1], claim);
                        System.out.printf(" %-22s |", cell(moved));
                    }
                    System.out.println();
                }
            }
        }
    }

    private static String cell(Moved moved) {
        return String.format(
                Locale.ROOT,
                "%.1f (+ %.1f | %.1f)",
                moved.uploaded / 1e6,
                moved.duplicated / 1e6,
                moved.referred / 1e6);
    }
}
