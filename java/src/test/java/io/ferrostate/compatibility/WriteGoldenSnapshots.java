package io.ferrostate.compatibility;

import io.ferrostate.compatibility.ScriptedJob.Settings;
import io.ferrostate.jni.NativeLibrary;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.util.EnvironmentInformation;

/**
 * The program behind {@code make golden}: writes the {@link GoldenSnapshots} of this version of Ferrostate
 * and of this version of Flink's RocksDB backend. Those that are there already stay as they are.
 */
public final class WriteGoldenSnapshots {

    static final int PARALLELISM = 2;
    static final int MAX_PARALLELISM = 128;

    /** The files of this many flushes; RocksDB compacts four. */
    static final int ROUNDS = 3;

    private WriteGoldenSnapshots() {}

    public static void main(String[] args) throws Exception {
        Path golden = Path.of(args[0]).toAbsolutePath();
        Path scratch = Files.createTempDirectory("golden");
        try (MiniCluster cluster = TestCluster.start()) {
            write(
                    cluster,
                    BackendType.ROCKSDB,
                    golden.resolve("rocksdb-" + EnvironmentInformation.getVersion()),
                    scratch);
            write(
                    cluster,
                    BackendType.FERROSTATE,
                    golden.resolve("ferrostate-" + ferrostateVersion()),
                    scratch);
        } finally {
            delete(scratch);
        }
    }

    private static String ferrostateVersion() throws Exception {
        Properties properties = new Properties();
        try (InputStream in =
                NativeLibrary.class.getResourceAsStream("/io/ferrostate/version.properties")) {
            properties.load(in);
        }
        return properties.getProperty("version");
    }

    private static void write(MiniCluster cluster, BackendType backend, Path target, Path scratch)
            throws Exception {
        if (Files.exists(target)) {
            System.out.println(target + " is there and stays as it is");
            return;
        }
        Files.createDirectories(target);
        for (SnapshotKind kind : SnapshotKind.values()) {
            Path directory = scratch.resolve(backend + "-" + kind);
            Settings settings =
                    new Settings(
                            backend.value,
                            PARALLELISM,
                            MAX_PARALLELISM,
                            directory.resolve("checkpoints"));
            if (kind == SnapshotKind.CHECKPOINT) {
                // Paths of a checkpoint's files are absolute: they all go into _metadata.
                settings.inline(MemorySize.ofMebiBytes(1));
            }
            Path snapshot =
                    kind.write(cluster, settings, directory.resolve("savepoints"), ROUNDS);
            GoldenSnapshots.pack(snapshot, target, kind.fileName());
        }
        try (Model model = new Model(scratch.resolve("model-of-" + backend), MAX_PARALLELISM)) {
            for (int round = 1; round <= ROUNDS; round++) {
                model.round(round);
            }
            GoldenSnapshots.writeExpected(model.dumpAll(), target);
        }
        System.out.println("wrote " + target);
    }

    private static void delete(Path directory) throws Exception {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) {
                Files.delete(path);
            }
        }
    }
}
