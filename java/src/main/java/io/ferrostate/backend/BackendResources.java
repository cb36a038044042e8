package io.ferrostate.backend;

import io.ferrostate.checkpoint.CheckpointStrategy;

import org.apache.flink.runtime.memory.OpaqueMemoryResource;
import org.apache.flink.util.IOUtils;

/**
 * What a backend holds beyond the heap, from its directory to its pages. Filled while the backend is
 * built; closed once, in the order that dependencies demand, whether it was filled entirely or not.
 */
public final class BackendResources implements AutoCloseable {

    private final InstanceDirectory directory;
    private final OpaqueMemoryResource<SharedMemory> memory;
    private final Cursors cursors = new Cursors();

    private Database database;
    private StateAccess<?> access;
    private CheckpointStrategy<?> checkpoints;
    private boolean closed;

    /**
     * @param memory may be null.
     */
    public BackendResources(
            InstanceDirectory directory, OpaqueMemoryResource<SharedMemory> memory) {
        this.directory = directory;
        this.memory = memory;
    }

    InstanceDirectory directory() {
        return directory;
    }

    /** Handle of the shared memory, or 0. */
    long memory() {
        return memory == null ? 0 : memory.getResourceHandle().handle();
    }

    Cursors cursors() {
        return cursors;
    }

    Database database() {
        return database;
    }

    CheckpointStrategy<?> checkpoints() {
        return checkpoints;
    }

    void own(Database opened) {
        database = opened;
    }

    void own(StateAccess<?> opened) {
        access = opened;
    }

    void own(CheckpointStrategy<?> opened) {
        checkpoints = opened;
    }

    /** Snapshots end first, the directory goes last. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        IOUtils.closeQuietly(checkpoints);
        IOUtils.closeQuietly(cursors);
        IOUtils.closeQuietly(database);
        IOUtils.closeQuietly(access);
        IOUtils.closeQuietly(memory);
        IOUtils.closeQuietly(directory);
        NativeLog.drain();
    }
}
