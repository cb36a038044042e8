package io.ferrostate.model;

import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.StateTtlConfig.StateVisibility;
import org.apache.flink.api.common.state.StateTtlConfig.UpdateType;

import java.time.Duration;
import java.util.Random;

/**
 * Times to live: all kinds of updates and visibilities. What is cleaned up in the background each
 * backend does in its own way and at its own time: either nothing, or by compactions, and then what has
 * expired is never to be seen.
 */
final class Ttl {

    static final int MILLIS = 1000;

    private Ttl() {}

    static StateTtlConfig draw(Random random, boolean cleanSnapshots, boolean compactions) {
        StateTtlConfig.Builder config =
                StateTtlConfig.newBuilder(Duration.ofMillis(MILLIS))
                        .setUpdateType(
                                random.nextBoolean()
                                        ? UpdateType.OnCreateAndWrite
                                        : UpdateType.OnReadAndWrite)
                        .setStateVisibility(
                                random.nextBoolean() || compactions
                                        ? StateVisibility.NeverReturnExpired
                                        : StateVisibility.ReturnExpiredIfNotCleanedUp)
                        .disableCleanupInBackground();
        if (compactions) {
            config.cleanupInRocksdbCompactFilter(1 + random.nextInt(100));
        }
        return cleanSnapshots ? config.cleanupFullSnapshot().build() : config.build();
    }
}
