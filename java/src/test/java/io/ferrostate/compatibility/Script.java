package io.ferrostate.compatibility;

import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * What a test and its {@link ScriptedJob} say to each other, in one JVM: commands go to the source of
 * the job's current attempt, dumps and confirmed checkpoints come back. Nobody waits for time.
 */
final class Script implements AutoCloseable {

    private static final Map<String, Script> RUNNING = new ConcurrentHashMap<>();

    final String name;
    private final int subtasks;
    private final Map<String, Gathered> gathered = new ConcurrentHashMap<>();
    private final Map<Integer, CompletableFuture<BlockingQueue<Command>>> attempts =
            new ConcurrentHashMap<>();
    private int attempt;

    /** What all subtasks have to say about one thing. */
    private final class Gathered {
        private final CompletableFuture<SortedMap<String, String>> whole = new CompletableFuture<>();
        private final SortedMap<String, String> parts = new TreeMap<>();
        private int missing = subtasks;

        private synchronized void add(Map<String, String> part) {
            for (Map.Entry<String, String> entry : part.entrySet()) {
                if (parts.put(entry.getKey(), entry.getValue()) != null) {
                    whole.completeExceptionally(
                            new AssertionError("two subtasks have " + entry.getKey()));
                }
            }
            if (--missing == 0) {
                whole.complete(parts);
            }
        }
    }

    Script(String name, int subtasks) {
        this.name = name;
        this.subtasks = subtasks;
        RUNNING.put(name, this);
    }

    static Script of(String name) {
        return RUNNING.get(name);
    }

    // ---- the job's side ------------------------------------------------------------------------

    /** The commands for this attempt of the source. */
    synchronized BlockingQueue<Command> attach() {
        BlockingQueue<Command> commands = new LinkedBlockingQueue<>();
        attempt(++attempt).complete(commands);
        return commands;
    }

    void dumped(long number, Map<String, String> part) {
        gathered("dump " + number).add(part);
    }

    void confirmed(long checkpoint) {
        gathered("checkpoint " + checkpoint).add(Map.of());
    }

    // ---- the test's side -----------------------------------------------------------------------

    /** Where to put commands once the job's attempt of this number, from 1, runs. */
    CompletableFuture<BlockingQueue<Command>> attempt(int number) {
        return attempts.computeIfAbsent(number, n -> new CompletableFuture<>());
    }

    CompletableFuture<SortedMap<String, String>> dump(long number) {
        return gathered("dump " + number).whole;
    }

    /** All subtasks know that it is complete. */
    CompletableFuture<?> confirmation(long checkpoint) {
        return gathered("checkpoint " + checkpoint).whole;
    }

    private Gathered gathered(String what) {
        return gathered.computeIfAbsent(what, w -> new Gathered());
    }

    @Override
    public void close() {
        RUNNING.remove(name);
    }
}
