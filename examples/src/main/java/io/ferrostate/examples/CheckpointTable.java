package io.ferrostate.examples;

import org.apache.flink.runtime.checkpoint.AbstractCheckpointStats;
import org.apache.flink.runtime.checkpoint.CheckpointStatsHistory;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStats;
import org.apache.flink.runtime.checkpoint.SubtaskStateStats;
import org.apache.flink.runtime.checkpoint.TaskStateStats;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;

/**
 * The table of completed checkpoints, a line each as it completes. Files and bytes are those of the
 * keyed state, out of _metadata; times are the slowest subtask's, out of Flink's statistics.
 */
final class CheckpointTable {

    private static final String HEADER = "checkpoint   new files   reused     uploaded    full size"
            + "   sync ms   async ms";
    private static final String ROW = "%10d  %10d  %7d  %11s  %11s  %8d  %9d";

    private final Console console;
    private CheckpointFiles latestFiles = CheckpointFiles.empty();
    private long latest;
    private int count;
    private long uploaded;
    private long fullSize;

    CheckpointTable(Console console) {
        this.console = console;
    }

    long latest() {
        return latest;
    }

    /** Prints the checkpoints that completed since the last call. */
    void update(CheckpointStatsHistory history) {
        List<CompletedCheckpointStats> fresh = new ArrayList<>();
        for (AbstractCheckpointStats stats : history.getCheckpoints()) {
            if (stats instanceof CompletedCheckpointStats && stats.getCheckpointId() > latest) {
                fresh.add((CompletedCheckpointStats) stats);
            }
        }
        fresh.sort(Comparator.comparingLong(AbstractCheckpointStats::getCheckpointId));
        fresh.forEach(this::add);
    }

    /** The saving in one line. */
    void summary() {
        if (fullSize > 0) {
            console.line(
                    String.format(
                            Locale.ROOT,
                            "%d checkpoints: %s uploaded for %s of state, %.1f %%",
                            count,
                            size(uploaded),
                            size(fullSize),
                            100.0 * uploaded / fullSize));
        }
    }

    private void add(CompletedCheckpointStats stats) {
        latest = stats.getCheckpointId();
        CheckpointFiles files;
        try {
            files = CheckpointFiles.read(stats.getExternalPath());
        } catch (IOException e) {
            // Subsumed before it was looked at: more than the retained ones since the last poll.
            console.line(String.format(Locale.ROOT, "%10d  (gone already)", latest));
            return;
        }
        if (count++ == 0) {
            console.line(HEADER);
        }
        console.line(row(stats, files));
        uploaded += files.uploaded();
        fullSize += files.fullSize();
        latestFiles = files;
    }

    private String row(CompletedCheckpointStats stats, CheckpointFiles files) {
        return String.format(
                Locale.ROOT,
                ROW,
                latest,
                files.newSince(latestFiles),
                files.reusedFrom(latestFiles),
                size(files.uploaded()),
                size(files.fullSize()),
                slowest(stats, SubtaskStateStats::getSyncCheckpointDuration),
                slowest(stats, SubtaskStateStats::getAsyncCheckpointDuration));
    }

    private static long slowest(
            CompletedCheckpointStats stats, ToLongFunction<SubtaskStateStats> duration) {
        long slowest = 0;
        for (TaskStateStats task : stats.getAllTaskStateStats()) {
            for (SubtaskStateStats subtask : task.getSubtaskStats()) {
                if (subtask != null) {
                    slowest = Math.max(slowest, duration.applyAsLong(subtask));
                }
            }
        }
        return slowest;
    }

    private static String size(long bytes) {
        return String.format(Locale.ROOT, "%,d KiB", (bytes + 1023) / 1024);
    }
}
