package io.ferrostate.compatibility;

import io.ferrostate.compatibility.ScriptedJob.Settings;
import java.nio.file.Path;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.minicluster.MiniCluster;

/** What a job leaves that another one is restored from. */
enum SnapshotKind {
    CHECKPOINT,
    NATIVE_SAVEPOINT,
    CANONICAL_SAVEPOINT;

    /** Runs a job for some rounds, a checkpoint after each, and ends it with such a snapshot. */
    Path write(MiniCluster cluster, Settings settings, Path savepoints, int rounds)
            throws Exception {
        try (ScriptedJob job = new ScriptedJob(cluster, settings.retain())) {
            for (int round = 1; round < rounds; round++) {
                job.round(round);
                job.dump();
                job.checkpoint();
            }
            job.round(rounds);
            job.dump();
            return end(job, savepoints);
        }
    }

    private Path end(ScriptedJob job, Path savepoints) throws Exception {
        switch (this) {
            case NATIVE_SAVEPOINT:
                return job.stop(SavepointFormatType.NATIVE, savepoints);
            case CANONICAL_SAVEPOINT:
                return job.stop(SavepointFormatType.CANONICAL, savepoints);
            default:
                Path checkpoint = job.checkpoint();
                job.cancel();
                return checkpoint;
        }
    }

    /** As a file name. */
    String fileName() {
        return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }
}
