package io.ferrostate.uploads;

import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.StateBackendLoader;

/** Who restores, by the options that a user would write. */
enum Contender {
    /** Once its background compaction has removed what belongs to other subtasks. */
    FERROSTATE("Ferrostate", "io.ferrostate.FerrostateStateBackendFactory"),
    /** Before that. */
    FERROSTATE_AT_ONCE(
            "Ferrostate at once",
            "io.ferrostate.FerrostateStateBackendFactory",
            "compaction.style",
            "NONE"),
    ROCKSDB("RocksDB", "rocksdb"),
    ROCKSDB_INGEST("RocksDB, ingest on", "rocksdb", "use-ingest-db-restore-mode", "true");

    final String title;
    private final String type;
    private final String[] more;

    /** @param more alternating option and value. */
    Contender(String title, String type, String... more) {
        this.title = title;
        this.type = type;
        this.more = more;
    }

    /** @param fileBytes of an SST file; levels and write buffers are in proportion. */
    AbstractStateBackend backend(long fileBytes) throws Exception {
        Configuration options = new Configuration();
        options.set(StateBackendOptions.STATE_BACKEND, type);
        options.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
        for (int i = 0; i < more.length; i += 2) {
            set(options, more[i], more[i + 1]);
        }
        set(options, "writebuffer.size", 4 * fileBytes + " bytes");
        set(options, "compaction.level.target-file-size-base", fileBytes + " bytes");
        set(options, "compaction.level.max-size-level-base", 4 * fileBytes + " bytes");
        return (AbstractStateBackend)
                StateBackendLoader.fromApplicationOrConfigOrDefault(
                        null, options, options, Contender.class.getClassLoader(), null);
    }

    private static void set(Configuration options, String name, String value) {
        options.setString("state.backend.rocksdb." + name, value);
    }
}
