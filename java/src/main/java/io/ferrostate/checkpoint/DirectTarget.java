package io.ferrostate.checkpoint;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.PathSpelling;

import org.apache.flink.core.fs.EntropyInjector;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageLocation;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.util.WrappingProxy;
import org.apache.flink.util.WrappingProxyUtil;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.reflect.Field;

/**
 * Decides whether the library may write checkpoint files itself, and knows where to and up to which
 * size state stays inline. Transfers nothing.
 *
 * <p>Only for exactly Flink's plain file system storage: its subclass for file merging, entropy
 * injection and file systems that wrap or replace the local one (limits, tests) want every byte to
 * pass through their streams. Nor where the library would spell the path differently: Flink could
 * neither read nor delete what it wrote.
 */
final class DirectTarget {

    private static final Logger LOG = LoggerFactory.getLogger(DirectTarget.class);

    /** Flink has no accessor for these two; without them uploads go through streams. */
    private static final Field THRESHOLD = field("fileStateThreshold");

    private static final Field FILE_SYSTEM = field("filesystem");

    private final FsCheckpointStreamFactory factory;
    private final int inlineThreshold;

    private DirectTarget(FsCheckpointStreamFactory factory, int inlineThreshold) {
        this.factory = factory;
        this.inlineThreshold = inlineThreshold;
    }

    /** Null: use the factory's streams. */
    static DirectTarget of(CheckpointStreamFactory factory) {
        FileSystem fileSystem = plainFileSystem(factory);
        if (fileSystem == null || THRESHOLD == null) {
            return null;
        }
        FsCheckpointStreamFactory files = (FsCheckpointStreamFactory) factory;
        try {
            boolean reached =
                    isReached(fileSystem, files.getTargetPath(CheckpointedStateScope.EXCLUSIVE))
                            && isReached(
                                    fileSystem, files.getTargetPath(CheckpointedStateScope.SHARED));
            return reached ? new DirectTarget(files, THRESHOLD.getInt(files)) : null;
        } catch (IllegalAccessException notReadable) {
            LOG.warn("Uploading through Flink's streams: {}", notReadable.toString());
            return null;
        }
    }

    /** The file system behind exactly Flink's plain file system storage, else null. */
    static FileSystem plainFileSystem(CheckpointStreamFactory factory) {
        Class<?> type = factory.getClass();
        boolean plain =
                type == FsCheckpointStorageLocation.class
                        || type == FsCheckpointStreamFactory.class;
        try {
            return plain && FILE_SYSTEM != null ? (FileSystem) FILE_SYSTEM.get(factory) : null;
        } catch (IllegalAccessException notReadable) {
            LOG.warn("Uploading through Flink's streams: {}", notReadable.toString());
            return null;
        }
    }

    Path directory(CheckpointedStateScope scope) {
        return factory.getTargetPath(scope);
    }

    /** Files of at most so many bytes travel inside their handles. */
    int inlineThreshold() {
        return inlineThreshold;
    }

    private static boolean isReached(FileSystem fileSystem, Path directory) {
        return unwrapped(fileSystem).getClass() == LocalFileSystem.class
                && !EntropyInjector.isEntropyInjecting(fileSystem, directory)
                && PathSpelling.isShared(directory.getPath())
                && Native.storeReaches(directory.toUri().toString());
    }

    @SuppressWarnings("unchecked")
    private static FileSystem unwrapped(FileSystem fileSystem) {
        return fileSystem instanceof WrappingProxy
                ? WrappingProxyUtil.stripProxy((WrappingProxy<FileSystem>) fileSystem)
                : fileSystem;
    }

    private static Field field(String name) {
        try {
            Field field = FsCheckpointStreamFactory.class.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException | RuntimeException changed) {
            LOG.warn(
                    "This Flink version keeps '{}' elsewhere: uploading through its streams. {}",
                    name,
                    changed.toString());
            return null;
        }
    }
}
