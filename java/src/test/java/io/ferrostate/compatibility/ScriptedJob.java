package io.ferrostate.compatibility;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointFailureReason;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.util.ExceptionUtils;

/** A job of a source and a {@link ScriptedOperator} on a mini cluster, which does what a test says. */
final class ScriptedJob implements AutoCloseable {

    private static final AtomicLong NAMES = new AtomicLong();

    private static final Set<CheckpointFailureReason> TOO_EARLY =
            EnumSet.of(
                    CheckpointFailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING,
                    CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY);

    private final MiniCluster cluster;
    private final Settings settings;
    private final Script script;
    private final JobID id;
    private final CompletableFuture<JobResult> result;
    private int attempt = 1;
    private long dumps;

    /** How to run it. */
    static final class Settings {
        private final String stateBackend;
        private final int parallelism;
        private final int maxParallelism;
        private final Path checkpoints;
        private final Configuration more = new Configuration();
        private SavepointRestoreSettings restore = SavepointRestoreSettings.none();

        Settings(String stateBackend, int parallelism, int maxParallelism, Path checkpoints) {
            this.stateBackend = stateBackend;
            this.parallelism = parallelism;
            this.maxParallelism = maxParallelism;
            this.checkpoints = checkpoints;
        }

        Settings restore(String path, RecoveryClaimMode mode) {
            restore = SavepointRestoreSettings.forPath(path, false, mode);
            return this;
        }

        /** Keeps its last checkpoint when it is cancelled; else all of them are deleted then. */
        Settings retain() {
            more.set(
                    CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
                    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
            return this;
        }

        /** State up to this size lies in {@code _metadata} instead of a file of its own. */
        Settings inline(MemorySize most) {
            more.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, most);
            return this;
        }

        private Configuration configuration() {
            Configuration all = new Configuration();
            all.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
            all.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ZERO);
            // Only when the test says so.
            all.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofDays(1));
            all.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, checkpoints.toUri().toString());
            all.set(StateBackendOptions.STATE_BACKEND, stateBackend);
            all.set(PipelineOptions.MAX_PARALLELISM, maxParallelism);
            all.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
            all.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, 1);
            all.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ZERO);
            all.addAll(more);
            return all;
        }
    }

    ScriptedJob(MiniCluster cluster, Settings settings) throws Exception {
        this.cluster = cluster;
        this.settings = settings;
        this.script = new Script("script " + NAMES.incrementAndGet(), settings.parallelism);
        id = cluster.submitJob(graph().getJobGraph()).get().getJobID();
        result = cluster.requestJobResult(id);
    }

    @SuppressWarnings("deprecation") // see ScriptSource
    private StreamGraph graph() {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(settings.configuration());
        env.setParallelism(settings.parallelism);
        env.addSource(new ScriptSource(script.name), "commands", Command.TYPE)
                .setParallelism(1)
                .uid("commands")
                .keyBy(command -> command.key, Types.STRING)
                .transform(
                        "every state",
                        Types.VOID,
                        new ScriptedOperator(script.name, settings.maxParallelism))
                .uid("every state");
        StreamGraph graph = env.getStreamGraph();
        graph.setJobName(script.name);
        graph.setSavepointRestoreSettings(settings.restore);
        return graph;
    }

    // ---- state ---------------------------------------------------------------------------------

    /** Fires what the watermark before the round fires, then does the round. */
    void round(long round) throws Exception {
        watermark(Timer.watermarkBefore(round));
        KeyGroupRange all = KeyGroupRange.of(0, settings.maxParallelism - 1);
        for (String key : Workload.keys(all, settings.maxParallelism)) {
            say(Command.Kind.ROUND, key, round);
        }
    }

    void watermark(long watermark) throws Exception {
        say(Command.Kind.WATERMARK, "", watermark);
    }

    /** All state, after everything that was said before. */
    SortedMap<String, String> dump() throws Exception {
        return dump(Command.Kind.DUMP);
    }

    SortedMap<String, String> dumpAll() throws Exception {
        return dump(Command.Kind.DUMP_ALL);
    }

    private SortedMap<String, String> dump(Command.Kind kind) throws Exception {
        long number = ++dumps;
        for (int subtask = 0; subtask < settings.parallelism; subtask++) {
            say(kind, keyOf(subtask), number);
        }
        return await(script.dump(number));
    }

    private void say(Command.Kind kind, String key, long number) throws Exception {
        BlockingQueue<Command> commands = await(script.attempt(attempt));
        commands.add(new Command(kind, key, number));
    }

    private String keyOf(int subtask) {
        KeyGroupRange range =
                KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(
                        settings.maxParallelism, settings.parallelism, subtask);
        return Workload.keys(range, settings.maxParallelism).get(0);
    }

    // ---- snapshots, failures, ends -------------------------------------------------------------

    /** A completed checkpoint, which all subtasks know of. */
    Path checkpoint() throws Exception {
        Path checkpoint = null;
        while (checkpoint == null) { // the test's time limit ends it
            try {
                checkpoint = path(await(cluster.triggerCheckpoint(id)));
            } catch (ExecutionException failure) {
                // Job and tasks hear of each other's running later than we hear from them.
                if (!isTooEarly(failure)) {
                    throw failure;
                }
            }
        }
        await(script.confirmation(number(checkpoint)));
        return checkpoint;
    }

    private static boolean isTooEarly(ExecutionException failure) {
        return ExceptionUtils.findThrowable(failure, CheckpointException.class)
                .map(CheckpointException::getCheckpointFailureReason)
                .filter(TOO_EARLY::contains)
                .isPresent();
    }

    private static Path path(String uri) {
        return Path.of(URI.create(uri).getPath());
    }

    private static long number(Path checkpoint) {
        return Long.parseLong(checkpoint.getFileName().toString().substring("chk-".length()));
    }

    /** Stops with a savepoint into this directory. */
    Path stop(SavepointFormatType format, Path directory) throws Exception {
        String savepoint =
                cluster.stopWithSavepoint(id, directory.toUri().toString(), false, format).get();
        result.get();
        return path(savepoint);
    }

    /** Fails in one subtask; the job goes on from its last checkpoint as often as it may. */
    void fail() throws Exception {
        say(Command.Kind.FAIL, keyOf(0), 0);
        attempt++;
    }

    void cancel() throws Exception {
        cluster.cancelJob(id).get();
        result.get();
    }

    /** Waits, unless the job ends before. */
    private <T> T await(CompletableFuture<T> future) throws Exception {
        CompletableFuture.anyOf(future, result).get();
        if (!future.isDone()) {
            throw new IllegalStateException(
                    "the job has ended", result.get().getSerializedThrowable().orElse(null));
        }
        return future.get();
    }

    /** Ends it if it still runs, after a failed test. */
    @Override
    public void close() throws Exception {
        if (!result.isDone()) {
            cancel();
        }
        script.close();
    }
}
