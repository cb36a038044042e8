package io.ferrostate.bench.task;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageAccess;

import java.io.IOException;
import java.nio.file.Path;

/** The checkpoints of one job in a folder, numbered from 1 on. */
public final class Storage {

    private static final int INLINE_BYTES = 20 << 10;
    private static final int WRITE_BUFFER_BYTES = 16 << 10;

    private final FsCheckpointStorageAccess access;
    private long id;

    public Storage(Path folder) throws IOException {
        access =
                new FsCheckpointStorageAccess(
                        new org.apache.flink.core.fs.Path(folder.toUri()),
                        null,
                        new JobID(),
                        INLINE_BYTES,
                        WRITE_BUFFER_BYTES);
        access.initializeBaseLocationsForCheckpoint();
    }

    /** Where the next checkpoint goes. */
    public CheckpointStreamFactory next() throws IOException {
        return (CheckpointStreamFactory) access.initializeLocationForCheckpoint(++id);
    }

    /** Of the checkpoint whose place was given last. */
    public long id() {
        return id;
    }
}
