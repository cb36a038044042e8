package io.ferrostate.model;

import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.StateTtlConfig.StateVisibility;
import org.apache.flink.api.common.state.StateTtlConfig.UpdateType;

import java.time.Duration;
import java.util.Random;

/**
 * Times to live: all kinds of updates and visibilities. Nothing is cleaned up in the background, which
 * each backend does in its own way and at its own time.
 */
final class Ttl {

    static final int MILLIS = 1000;

    private Ttl() {}

    static StateTtlConfig draw(Random random, boolean cleanSnapshots) {
        StateTtlConfig.Builder config =
                StateTtlConfig.newBuilder(Duration.ofMillis(MILLIS))
                        .setUpdateType(
                                random.nextBoolean()
                                        ? UpdateType.OnCreateAndWrite
                                        : UpdateType.OnReadAndWrite)
                        .setStateVisibility(
                                random.nextBoolean()
                                        ? StateVisibility.NeverReturnExpired
                                        : StateVisibility.ReturnExpiredIfNotCleanedUp)
                        .disableCleanupInBackground();
        return cleanSnapshots ? config.cleanupFullSnapshot().build() : config.build();
    }
}
