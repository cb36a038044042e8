package io.ferrostate.bench.state;

import io.ferrostate.bench.measure.TriedOptions;

import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateBackendOptions;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/** Who is measured, by the options that a user would write. */
public enum Contender {
    FERROSTATE("Ferrostate", "io.ferrostate.FerrostateStateBackendFactory", Map.of()),
    HASHMAP("hashmap", "hashmap", Map.of()),
    ROCKSDB("RocksDB, its defaults", "rocksdb", Map.of()),
    ROCKSDB_TUNED(
            "RocksDB, tuned",
            "rocksdb",
            Map.of(
                    "state.backend.rocksdb.use-bloom-filter", "true",
                    "state.backend.rocksdb.memory.partitioned-index-filters", "true",
                    "state.backend.rocksdb.thread.num", "4")),
    FORST("ForSt, synchronous API", "forst", Map.of());

    public final String title;
    private final String type;
    private final Map<String, String> options;

    Contender(String title, String type, Map<String, String> options) {
        this.title = title;
        this.type = type;
        this.options = options;
    }

    /** From their names, separated by ','. */
    public static Set<Contender> parse(String names) {
        Set<Contender> contenders = EnumSet.noneOf(Contender.class);
        for (String name : names.split(",")) {
            contenders.add(valueOf(name));
        }
        return contenders;
    }

    public Configuration options() {
        Configuration configuration = new Configuration();
        configuration.set(StateBackendOptions.STATE_BACKEND, type);
        configuration.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
        options.forEach(configuration::setString);
        if (this == FERROSTATE) {
            TriedOptions.given().forEach(configuration::setString);
        }
        return configuration;
    }
}
