package io.ferrostate.uploads;

import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.NATIVE_SAVEPOINT;

import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;

/** What a job is restored from. */
enum Restored {
    CHECKPOINT_FILES("checkpoint", CHECKPOINT),
    NATIVE("native savepoint", NATIVE_SAVEPOINT),
    CANONICAL(
            "canonical savepoint",
            new CheckpointOptions(
                    SavepointType.savepoint(SavepointFormatType.CANONICAL),
                    CheckpointStorageLocationReference.getDefault()));

    final String title;
    final CheckpointOptions options;

    Restored(String title, CheckpointOptions options) {
        this.title = title;
        this.options = options;
    }
}
