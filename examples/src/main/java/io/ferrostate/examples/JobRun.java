package io.ferrostate.examples;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.checkpoint.CheckpointStatsSnapshot;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStats;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.ErrorInfo;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.util.OptionalFailure;
import org.apache.flink.util.SerializedValue;

import java.util.Locale;

/**
 * One submitted job, watched from outside until it ends: shows progress, checkpoints and restores,
 * and cancels the job where asked. Starts no cluster and judges no result.
 */
final class JobRun {

    private static final long POLL_MILLIS = 100;

    private final MiniCluster cluster;
    private final JobID job;
    private final String phase;
    private final int rows;
    private final Console console;
    private final CheckpointTable table;

    private AccessExecutionGraph graph;
    private long position;
    private long restores;

    private JobRun(
            MiniCluster cluster,
            JobID job,
            String phase,
            int rows,
            Console console,
            CheckpointTable table) {
        this.cluster = cluster;
        this.job = job;
        this.phase = phase;
        this.rows = rows;
        this.console = console;
        this.table = table;
    }

    static JobRun submit(
            MiniCluster cluster,
            JobGraph job,
            String phase,
            int rows,
            Console console,
            CheckpointTable table)
            throws Exception {
        cluster.submitJob(job).get();
        return new JobRun(cluster, job.getJobID(), phase, rows, console, table);
    }

    /** How often the job was restored from a checkpoint so far. */
    long restores() {
        return restores;
    }

    void untilFinished() throws Exception {
        untilEndsAs(JobStatus.FINISHED);
    }

    /**
     * Cancels the job at that row, once a checkpoint is complete.
     *
     * @return URI of the latest checkpoint, which is retained.
     */
    String cancelAt(long row) throws Exception {
        long before = table.latest();
        while (position < row || table.latest() == before) {
            failIfEnded();
            Thread.sleep(POLL_MILLIS);
            look();
        }
        cluster.cancelJob(job).get();
        untilEndsAs(JobStatus.CANCELED);
        CompletedCheckpointStats latest =
                graph.getCheckpointStatsSnapshot().getHistory().getLatestCompletedCheckpoint();
        console.line("cancelled at flight " + count(position) + ", checkpoint "
                + latest.getCheckpointId() + " is retained");
        return latest.getExternalPath();
    }

    private void untilEndsAs(JobStatus wanted) throws Exception {
        look();
        while (!graph.getState().isGloballyTerminalState()) {
            Thread.sleep(POLL_MILLIS);
            look();
        }
        if (graph.getState() != wanted) {
            throw ended();
        }
    }

    private void failIfEnded() {
        if (graph != null && graph.getState().isGloballyTerminalState()) {
            throw ended();
        }
    }

    private IllegalStateException ended() {
        ErrorInfo failure = graph.getFailureInfo();
        String cause = failure == null ? "" : ": " + failure.getExceptionAsString();
        return new IllegalStateException(
                "The job of phase '" + phase + "' ended as " + graph.getState() + " at flight "
                        + count(position) + cause);
    }

    private void look() throws Exception {
        graph = cluster.getExecutionGraph(job).get();
        lookAtPosition();
        CheckpointStatsSnapshot checkpoints = graph.getCheckpointStatsSnapshot();
        if (checkpoints != null) {
            table.update(checkpoints.getHistory());
            lookAtRestores(checkpoints);
        }
        console.status(
                String.format(
                        Locale.ROOT,
                        "[%s] flight %,d of %,d, checkpoint %d, %s",
                        phase,
                        position,
                        rows,
                        table.latest(),
                        graph.getState().name().toLowerCase(Locale.ROOT)));
    }

    private void lookAtPosition() throws Exception {
        SerializedValue<OptionalFailure<Object>> seen =
                graph.getAccumulatorsSerialized().get(RowCount.ACCUMULATOR);
        if (seen != null) {
            Object value = seen.deserializeValue(JobRun.class.getClassLoader()).get();
            // Negative until the first flight of an attempt.
            position = Math.max(0, ((Number) value).longValue());
        }
    }

    private void lookAtRestores(CheckpointStatsSnapshot checkpoints) {
        long counted = checkpoints.getCounts().getNumberOfRestoredCheckpoints();
        if (counted > restores) {
            restores = counted;
            console.line(
                    "restored from checkpoint "
                            + checkpoints.getLatestRestoredCheckpoint().getCheckpointId()
                            + reason());
        }
    }

    private String reason() {
        ErrorInfo failure = graph.getFailureInfo();
        return failure == null ? "" : " after " + failure.getExceptionAsString().split("\\R", 2)[0];
    }

    private static String count(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }
}
