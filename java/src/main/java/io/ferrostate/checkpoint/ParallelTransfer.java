package io.ferrostate.checkpoint;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Runs transfers through Flink's streams side by side. Its threads live as long as one call, and
 * when the call returns or throws none of its transfers is running any more.
 */
public final class ParallelTransfer {

    /** As many as Flink's RocksDB backend uses for one operator. */
    private static final int THREADS = 4;

    private ParallelTransfer() {}

    /**
     * @return results in the order of the transfers.
     * @throws Exception the first failure; transfers not begun by then are not run.
     */
    public static <T> List<T> run(String threadName, List<Callable<T>> transfers)
            throws Exception {
        if (transfers.size() <= 1) {
            List<T> results = new ArrayList<>(1);
            for (Callable<T> transfer : transfers) {
                results.add(transfer.call());
            }
            return results;
        }
        ExecutorService threads =
                Executors.newFixedThreadPool(
                        Math.min(THREADS, transfers.size()), body -> thread(threadName, body));
        try {
            return results(submit(threads, transfers));
        } finally {
            end(threads);
        }
    }

    private static <T> List<Future<T>> submit(
            ExecutorService threads, List<Callable<T>> transfers) {
        AtomicBoolean failed = new AtomicBoolean();
        List<Future<T>> futures = new ArrayList<>(transfers.size());
        for (Callable<T> transfer : transfers) {
            futures.add(threads.submit(() -> callUnless(failed, transfer)));
        }
        return futures;
    }

    private static <T> T callUnless(AtomicBoolean failed, Callable<T> transfer) throws Exception {
        if (failed.get()) {
            throw new CancellationException("Another transfer failed.");
        }
        boolean done = false;
        try {
            T result = transfer.call();
            done = true;
            return result;
        } finally {
            if (!done) {
                failed.set(true);
            }
        }
    }

    private static <T> List<T> results(List<Future<T>> futures) throws Exception {
        Throwable failure = null;
        List<T> results = new ArrayList<>(futures.size());
        for (Future<T> future : futures) {
            try {
                results.add(future.get());
            } catch (ExecutionException failed) {
                failure = worse(failure, failed.getCause());
            }
        }
        if (failure instanceof Error) {
            throw (Error) failure;
        }
        if (failure != null) {
            throw (Exception) failure;
        }
        return results;
    }

    /** A transfer that was merely not begun does not hide the failure that stopped it. */
    private static Throwable worse(Throwable first, Throwable second) {
        return first == null || first instanceof CancellationException ? second : first;
    }

    /** Also after an interrupt: whoever called may now delete what was transferred. */
    private static void end(ExecutorService threads) {
        threads.shutdownNow();
        boolean interrupted = false;
        while (!threads.isTerminated()) {
            try {
                threads.awaitTermination(1, TimeUnit.MINUTES);
            } catch (InterruptedException again) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static Thread thread(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        return thread;
    }
}
