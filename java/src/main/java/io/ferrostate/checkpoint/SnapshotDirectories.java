package io.ferrostate.checkpoint;

import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.LocalSnapshotDirectoryProvider;
import org.apache.flink.runtime.state.SnapshotDirectory;
import org.apache.flink.util.FileUtils;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;

/**
 * Decides where the hard links of a checkpoint go: a directory that Flink keeps for local recovery
 * (compatibility D13), or one that lives as long as the upload.
 */
final class SnapshotDirectories {

    private SnapshotDirectories() {}

    /** The directory itself does not exist yet: RocksDB wants to create it. */
    static SnapshotDirectory prepare(SnapshotContext<?> context, long checkpointId)
            throws IOException {
        if (!context.localRecovery().isLocalBackupEnabled()) {
            File directory = new File(context.instanceDirectory(), "chk-" + checkpointId);
            if (directory.exists()) {
                // Another snapshot's, which still reads it: not to be deleted by this one.
                throw new IOException(
                        "A snapshot " + checkpointId + " of " + context.operatorIdentifier()
                                + " is being taken already: " + directory + " exists.");
            }
            return SnapshotDirectory.temporary(directory);
        }
        LocalSnapshotDirectoryProvider provider = provider(context.localRecovery());
        File parent = provider.subtaskSpecificCheckpointDirectory(checkpointId);
        Files.createDirectories(parent.toPath());
        // Named by the backend: operators chained in one task share the parent.
        File directory =
                new File(parent, context.backendIdentifier().toString().replace("-", ""));
        if (directory.exists()) {
            FileUtils.deleteDirectory(directory);
        }
        return SnapshotDirectory.permanent(directory.toPath());
    }

    static LocalSnapshotDirectoryProvider provider(LocalRecoveryConfig config) {
        return config.getLocalStateDirectoryProvider()
                .orElseThrow(LocalRecoveryConfig.localRecoveryNotEnabled());
    }
}
