package io.ferrostate.checkpoint;

import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;

import java.nio.file.Path;
import java.util.List;

/** Brings files of a local checkpoint into the checkpoint storage and names them as handles. */
interface FileUpload {

    /**
     * @return handles in the order of the files, each known to the guard.
     */
    List<HandleAndLocalPath> upload(
            Path localDirectory,
            List<PlannedFile> files,
            CheckpointedStateScope scope,
            SnapshotGuard guard)
            throws Exception;

    /** The library's own transfer where it reaches the storage, else Flink's streams. */
    static FileUpload into(CheckpointStreamFactory factory) {
        DirectTarget target = DirectTarget.of(factory);
        return target != null ? new DirectUpload(target) : new StreamUpload(factory);
    }
}
