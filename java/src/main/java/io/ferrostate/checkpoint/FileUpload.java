package io.ferrostate.checkpoint;

import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.StreamStateHandle;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Brings files of a local checkpoint into the checkpoint storage and names them as handles. */
interface FileUpload {

    /** What became of the files: handles in their order, and whether the store had the bytes. */
    final class Result {

        private final List<HandleAndLocalPath> handles = new ArrayList<>();
        private int copiedFiles;
        private long copiedBytes;

        void add(StreamStateHandle handle, PlannedFile file, boolean copied) {
            handles.add(HandleAndLocalPath.of(handle, file.name()));
            if (copied) {
                copiedFiles++;
                copiedBytes += file.size();
            }
        }

        List<HandleAndLocalPath> handles() {
            return handles;
        }

        int copiedFiles() {
            return copiedFiles;
        }

        long copiedBytes() {
            return copiedBytes;
        }
    }

    /** Each handle is known to the guard. */
    Result upload(
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
