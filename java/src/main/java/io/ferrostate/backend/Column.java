package io.ferrostate.backend;

import io.ferrostate.jni.Native;

import java.io.IOException;

/**
 * One state's column family in a {@link Database}, which alone opens and closes it. Reading and
 * writing is done with its handle by the states themselves.
 */
public final class Column {

    private final Database database;
    private final String name;

    /** 0 once closed, which every native call refuses. */
    private long handle;

    Column(Database database, String name, long handle) {
        this.database = database;
        this.name = name;
        this.handle = handle;
    }

    public String name() {
        return name;
    }

    /** 0 once closed. For the task's thread, and within {@link Database#call} for others. */
    public long handle() {
        return handle;
    }

    /** The value of a key or null, from any thread. */
    public byte[] get(byte[] key) throws IOException {
        return call(state -> Native.getArray(state, key));
    }

    /** Runs a native call with the handle of this column family, from any thread. */
    public <R> R call(Database.NativeCall<R> body) throws IOException {
        return database.call(ignored -> body.run(handle));
    }

    /** A property of RocksDB for this column family or null, from any thread. */
    public String property(String property) throws IOException {
        return database.call(owner -> Native.dbProperty(owner, handle, property));
    }

    /** Called by the database under its lock. */
    void close() {
        long closing = handle;
        handle = 0;
        if (closing != 0) {
            Native.stateClose(closing);
        }
    }

    /** Called by the database under its lock. */
    void drop() throws IOException {
        Native.stateDrop(handle);
        handle = 0;
    }

    @Override
    public String toString() {
        return "column family '" + name + "' in " + database.directory();
    }
}
