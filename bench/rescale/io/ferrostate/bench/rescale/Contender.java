package io.ferrostate.bench.rescale;

import io.ferrostate.bench.measure.TriedOptions;

import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateBackendOptions;

/** Who is measured, by the options that a user would write. */
enum Contender {
    FERROSTATE("Ferrostate", "io.ferrostate.FerrostateStateBackendFactory", null),
    NO_WARM_UP("Ferrostate without restore.warm-up", FERROSTATE.type, null),
    ROCKSDB("RocksDB, its defaults (ingest off)", "rocksdb", "false"),
    ROCKSDB_INGEST("RocksDB, ingest on", "rocksdb", "true");

    private static final String INGEST = "state.backend.rocksdb.use-ingest-db-restore-mode";

    final String title;
    private final String type;
    private final String ingest;

    Contender(String title, String type, String ingest) {
        this.title = title;
        this.type = type;
        this.ingest = ingest;
    }

    /** Whose checkpoints it restores if each restores its own. */
    Contender writer() {
        return type.equals(FERROSTATE.type) ? FERROSTATE : ROCKSDB;
    }

    Configuration options() {
        Configuration options = new Configuration();
        options.set(StateBackendOptions.STATE_BACKEND, type);
        options.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
        if (this == NO_WARM_UP) {
            options.setString("state.backend.ferrostate.restore.warm-up", "false");
        }
        if (type.equals(FERROSTATE.type)) {
            TriedOptions.given().forEach(options::setString);
        }
        if (ingest != null) {
            options.setString(INGEST, ingest);
        }
        return options;
    }
}
