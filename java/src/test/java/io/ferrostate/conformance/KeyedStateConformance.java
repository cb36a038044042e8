package io.ferrostate.conformance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.CheckpointStorage;
import org.apache.flink.runtime.state.StateBackendTestBase;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameter;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameters;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Flink's own tests of a keyed state backend, in four variants: incremental checkpoints on and off,
 * checkpoints kept by the JobManager and in a file system. Which backend is the subclass's choice;
 * no test of our own belongs here.
 */
@ExtendWith(ParameterizedTestExtension.class)
abstract class KeyedStateConformance<B extends AbstractStateBackend>
        extends StateBackendTestBase<B> {

    /** Where checkpoints go; its text is part of the test's name in the report. */
    enum Storage {
        JOB_MANAGER,
        FILE_SYSTEM
    }

    @Parameter(0)
    public boolean incremental;

    @Parameter(1)
    public Storage storage;

    @TempDir Path directory;

    @Parameters(name = "incremental={0}, storage={1}")
    public static List<Object[]> variants() {
        return Arrays.asList(
                        new Object[] {true, Storage.FILE_SYSTEM},
                        new Object[] {true, Storage.JOB_MANAGER},
                        new Object[] {false, Storage.FILE_SYSTEM},
                        new Object[] {false, Storage.JOB_MANAGER})
                .subList(0, Integer.getInteger("ferrostate.test.variants", 4));
    }

    @Override
    protected final CheckpointStorage getCheckpointStorage() throws IOException {
        if (storage == Storage.JOB_MANAGER) {
            return new JobManagerCheckpointStorage();
        }
        Path checkpoints = Files.createTempDirectory(directory, "checkpoints");
        // Threshold 0: even the smallest file becomes an object of its own.
        return new FileSystemCheckpointStorage(
                new org.apache.flink.core.fs.Path(checkpoints.toUri()), 0, -1);
    }

    /** A new directory for a backend's working files. */
    final Path localDirectory() throws IOException {
        return Files.createTempDirectory(directory, "local");
    }

    @Override
    protected final boolean isSerializerPresenceRequiredOnRestore() {
        return false;
    }

    @Override
    protected final boolean supportsAsynchronousSnapshots() {
        return true;
    }
}
