package io.ferrostate.backend;

import io.ferrostate.jni.Native;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;

/**
 * Owner of one native database: opens it, hands out its column families and closes all of them
 * exactly once. It knows nothing of serializers and states.
 *
 * <p>State access on the task's thread uses {@link Column#handle()} without any lock, since {@link
 * #close()} runs on the same thread. Everything that other threads do goes through {@link #call}:
 * closing waits for it, and afterwards it throws {@link IllegalStateException}.
 */
public final class Database implements AutoCloseable {

    /** A native call that needs the database open until it returns. */
    @FunctionalInterface
    public interface NativeCall<R> {
        R run(long database) throws IOException;
    }

    private final File directory;
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final Map<String, Column> columns = new LinkedHashMap<>();

    /** Told of each column family. On the task's thread. */
    private Consumer<Column> observer = column -> {};

    /** 0 once closed; guarded by the lock. */
    private long handle;

    private Database(File directory, long handle) {
        this.directory = directory;
        this.handle = handle;
    }

    /**
     * Opens the database in a directory, created when absent, with the column families it has.
     *
     * @param options alternating key and value, see {@link io.ferrostate.FerrostateOptions}.
     * @param memory handle of the shared memory, or 0 for caches of its own.
     */
    public static Database open(File directory, String[] options, long memory) throws IOException {
        return new Database(
                directory, Native.dbOpen(directory.getAbsolutePath(), options, memory));
    }

    public File directory() {
        return directory;
    }

    /** Opens a column family, created when absent. The same name gives the same object. */
    public Column column(String name) throws IOException {
        Column column = open(name);
        // Without the lock: it may take locks whose holders wait for ours.
        observer.accept(column);
        return column;
    }

    /** Tells somebody of the column families there are, and from now on of each that is opened. */
    public void observeColumns(Consumer<Column> observer) {
        this.observer = observer;
        List<Column> known;
        lock.readLock().lock();
        try {
            known = new ArrayList<>(columns.values());
        } finally {
            lock.readLock().unlock();
        }
        known.forEach(observer);
    }

    private Column open(String name) throws IOException {
        StateNames.check(name);
        lock.writeLock().lock();
        try {
            checkOpen();
            Column column = columns.get(name);
            if (column == null) {
                checkName(name);
                column = new Column(this, name, Native.stateOpen(handle, name));
                columns.put(name, column);
            }
            return column;
        } finally {
            lock.writeLock().unlock();
        }
    }

    /** Half a character would cross the door as another one: two names, one column family. */
    private static void checkName(String name) {
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(name)) {
            throw new IllegalArgumentException(
                    "A state cannot be named '" + name + "': that is not Unicode text.");
        }
    }

    /** Drops a column family with its data. */
    public void drop(Column column) throws IOException {
        lock.writeLock().lock();
        try {
            checkOpen();
            if (columns.remove(column.name(), column)) {
                column.drop();
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    /** Names of the column families in the files, without {@code default}. */
    public List<String> columnNames() throws IOException {
        return Arrays.asList(call(Native::dbColumns));
    }

    /** Hard-links a consistent set of files into a directory that must not exist yet. */
    public void checkpoint(File target) throws IOException {
        call(
                database -> {
                    Native.dbCheckpoint(database, target.getAbsolutePath());
                    return null;
                });
    }

    /** Runs a native call during which the database stays open. For any thread. */
    public <R> R call(NativeCall<R> body) throws IOException {
        lock.readLock().lock();
        try {
            checkOpen();
            return body.run(handle);
        } finally {
            lock.readLock().unlock();
        }
    }

    /** A native call that there is nothing to do for once the database is closed. */
    @FunctionalInterface
    public interface NativeAction {
        void run(long database) throws IOException;
    }

    /** As {@link #whileOpen}, but waits for nobody: does nothing while the database is opened or closed. */
    public void unlessBusy(NativeAction body) throws IOException {
        if (lock.readLock().tryLock()) {
            try {
                whileOpen(body);
            } finally {
                lock.readLock().unlock();
            }
        }
    }

    /** As {@link #call}, but does nothing when the database is closed. */
    void whileOpen(NativeAction body) throws IOException {
        lock.readLock().lock();
        try {
            if (handle != 0) {
                body.run(handle);
            }
        } finally {
            lock.readLock().unlock();
        }
    }

    public boolean isOpen() {
        lock.readLock().lock();
        try {
            return handle != 0;
        } finally {
            lock.readLock().unlock();
        }
    }

    /** Closes column families and database; waits for calls of other threads. The files stay. */
    @Override
    public void close() {
        lock.writeLock().lock();
        try {
            if (handle == 0) {
                return;
            }
            columns.values().forEach(Column::close);
            columns.clear();
            long closing = handle;
            handle = 0;
            Native.dbClose(closing);
        } finally {
            lock.writeLock().unlock();
        }
    }

    private void checkOpen() {
        if (handle == 0) {
            throw new IllegalStateException("The database in " + directory + " is closed.");
        }
    }
}
