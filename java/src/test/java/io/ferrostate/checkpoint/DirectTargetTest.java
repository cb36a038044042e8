package io.ferrostate.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.core.fs.EntropyInjectingFileSystem;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemSafetyNet;
import org.apache.flink.core.fs.LimitedConnectionsFileSystem;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageLocation;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which checkpoint storages the library writes to itself. */
@Timeout(60)
class DirectTargetTest {

    private static final Path EXCLUSIVE = new Path("file:///checkpoints/job/chk-1");
    private static final Path SHARED = new Path("file:///checkpoints/job/shared");

    @BeforeEach
    void load() throws Exception {
        NativeLibrary.load();
    }

    private static FsCheckpointStreamFactory factory(FileSystem fileSystem, Path shared) {
        return new FsCheckpointStreamFactory(fileSystem, EXCLUSIVE, shared, 1234, 4096);
    }

    private static FsCheckpointStorageLocation location(FileSystem fileSystem) {
        return new FsCheckpointStorageLocation(
                fileSystem,
                EXCLUSIVE,
                SHARED,
                SHARED,
                CheckpointStorageLocationReference.getDefault(),
                1234,
                4096);
    }

    @Test
    void plainLocalStorageIsReached() {
        FileSystem local = LocalFileSystem.getSharedInstance();
        assertThat(DirectTarget.of(factory(local, SHARED)).inlineThreshold()).isEqualTo(1234);
        DirectTarget target = DirectTarget.of(location(local));
        assertThat(target.inlineThreshold()).isEqualTo(1234);
        assertThat(target.directory(CheckpointedStateScope.SHARED)).isEqualTo(SHARED);
        assertThat(target.directory(CheckpointedStateScope.EXCLUSIVE)).isEqualTo(EXCLUSIVE);
    }

    /** As tasks get it. */
    @Test
    void theSafetyNetOfATaskIsNoObstacle() throws Exception {
        FileSystemSafetyNet.initializeSafetyNetForThread();
        try {
            FileSystem guarded = FileSystem.get(SHARED.toUri());
            assertThat(guarded).isNotInstanceOf(LocalFileSystem.class);
            assertThat(DirectTarget.of(location(guarded))).isNotNull();
        } finally {
            FileSystemSafetyNet.closeSafetyNetAndGuardedResourcesForThread();
        }
    }

    @Test
    void storagesThatDoMoreThanStoreAreNot() {
        FileSystem local = LocalFileSystem.getSharedInstance();
        assertThat(DirectTarget.of(new MemCheckpointStreamFactory(1000))).isNull();
        assertThat(DirectTarget.of(new FaultyStreams(location(local), 0, () -> {}))).isNull();
        assertThat(DirectTarget.of(location(new LimitedConnectionsFileSystem(local, 3)))).isNull();
        assertThat(DirectTarget.of(location(new WithEntropy()))).isNull();
        FsCheckpointStreamFactory subclass =
                new FsCheckpointStreamFactory(local, EXCLUSIVE, SHARED, 1234, 4096) {};
        assertThat(DirectTarget.of(subclass)).isNull();
    }

    @Test
    void otherStoresAreNot() {
        FileSystem local = LocalFileSystem.getSharedInstance();
        for (String shared : new String[] {"hdfs://host/shared", "s3://bucket/shared"}) {
            assertThat(DirectTarget.of(factory(local, new Path(shared)))).isNull();
        }
    }

    private static final class WithEntropy extends LocalFileSystem
            implements EntropyInjectingFileSystem {

        @Override
        public String getEntropyInjectionKey() {
            return "_entropy_";
        }

        @Override
        public String generateEntropy() {
            return "abcd";
        }
    }
}
