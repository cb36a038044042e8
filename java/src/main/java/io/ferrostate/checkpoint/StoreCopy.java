package io.ferrostate.checkpoint;

import org.apache.flink.core.fs.EntropyInjector;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.PathsCopyingFileSystem;
import org.apache.flink.core.fs.PathsCopyingFileSystem.CopyRequest;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.StateUtil;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;

/**
 * Copies objects within a store that only Flink reaches, where its file system copies them without
 * bringing the bytes here. What cannot be copied is left to be uploaded: a copy never fails a snapshot.
 *
 * <p>Not by {@link CheckpointStreamFactory#duplicate}: it gives the copy the name of its source, which
 * in {@code shared/} is the source itself and elsewhere the copy of another subtask, makes absolute
 * handles in savepoints, and cannot be cancelled.
 */
final class StoreCopy {

    private static final Logger LOG = LoggerFactory.getLogger(StoreCopy.class);

    private final FsCheckpointStreamFactory factory;
    private final FileSystem fileSystem;
    private final CheckpointedStateScope scope;

    private StoreCopy(
            FsCheckpointStreamFactory factory, FileSystem fileSystem, CheckpointedStateScope scope) {
        this.factory = factory;
        this.fileSystem = fileSystem;
        this.scope = scope;
    }

    /** Null: the storage copies nothing. */
    static StoreCopy of(CheckpointStreamFactory factory, CheckpointedStateScope scope) {
        FileSystem fileSystem = DirectTarget.plainFileSystem(factory);
        return fileSystem instanceof PathsCopyingFileSystem
                ? new StoreCopy((FsCheckpointStreamFactory) factory, fileSystem, scope)
                : null;
    }

    /** A copy on its way. */
    private static final class Copy {

        private final PlannedFile file;
        private final CopyRequest request;
        private final StreamStateHandle handle;

        private Copy(PlannedFile file, CopyRequest request, StreamStateHandle handle) {
            this.file = file;
            this.request = request;
            this.handle = handle;
        }
    }

    /** @return the handles of those files that were copied, each known to the guard. */
    Map<PlannedFile, StreamStateHandle> copy(List<PlannedFile> files, SnapshotGuard guard)
            throws Exception {
        List<Copy> copies = new ArrayList<>();
        for (PlannedFile file : files) {
            Copy copy = prepared(file);
            if (copy != null) {
                copies.add(copy);
            }
        }
        if (copies.isEmpty() || !made(copies, guard)) {
            return new HashMap<>();
        }
        return whole(copies);
    }

    private Copy prepared(PlannedFile file) {
        // A smaller one may have been inline.
        if (file.copySource() == null
                || file.size() <= FsCheckpointStreamFactory.MAX_FILE_STATE_THRESHOLD) {
            return null;
        }
        try {
            Path source = new Path(URI.create(file.copySource()));
            if (!factory.canFastDuplicate(new FileStateHandle(source, file.size()), scope)) {
                return null;
            }
            String name = UUID.randomUUID().toString();
            Path directory = factory.getTargetPath(scope);
            Path target = EntropyInjector.addEntropy(fileSystem, new Path(directory, name));
            return new Copy(
                    file,
                    CopyRequest.of(source, target, file.size()),
                    handle(directory, target, name, file.size()));
        } catch (IOException | RuntimeException reason) {
            LOG.debug("{} is uploaded, not copied.", file.copySource(), reason);
            return null;
        }
    }

    /** As Flink's streams choose it. */
    private StreamStateHandle handle(Path directory, Path target, String name, long size) {
        boolean absolute =
                scope == CheckpointedStateScope.SHARED
                        || EntropyInjector.isEntropyInjecting(fileSystem, directory);
        return absolute
                ? new FileStateHandle(target, size)
                : new RelativeFileStateHandle(target, name, size);
    }

    private boolean made(List<Copy> copies, SnapshotGuard guard) {
        List<CopyRequest> requests = new ArrayList<>();
        // Before the first byte: some may be there after a failure.
        for (Copy copy : copies) {
            guard.created(copy.handle);
            requests.add(copy.request);
        }
        try {
            ((PathsCopyingFileSystem) fileSystem).copyFiles(requests, guard.registry());
            return true;
        } catch (IOException | RuntimeException reason) {
            if (guard.isCancelled()) {
                throw new CancellationException("Cancelled while copying within the store.");
            }
            LOG.info(
                    "{} could not copy {} files, which are uploaded instead: {}",
                    fileSystem,
                    copies.size(),
                    reason.toString());
            copies.forEach(copy -> StateUtil.discardStateObjectQuietly(copy.handle));
            return false;
        }
    }

    private Map<PlannedFile, StreamStateHandle> whole(List<Copy> copies) throws Exception {
        List<Callable<Boolean>> checks = new ArrayList<>();
        for (Copy copy : copies) {
            checks.add(() -> isWhole(copy));
        }
        List<Boolean> whole = ParallelTransfer.run("ferrostate-copy", checks);
        Map<PlannedFile, StreamStateHandle> handles = new HashMap<>();
        for (int i = 0; i < copies.size(); i++) {
            Copy copy = copies.get(i);
            if (whole.get(i)) {
                handles.put(copy.file, copy.handle);
            } else {
                StateUtil.discardStateObjectQuietly(copy.handle);
            }
        }
        return handles;
    }

    private boolean isWhole(Copy copy) {
        try {
            Path target = copy.request.getDestination();
            return fileSystem.getFileStatus(target).getLen() == copy.file.size();
        } catch (IOException reason) {
            LOG.debug("The copy {} cannot be checked.", copy.request.getDestination(), reason);
            return false;
        }
    }
}
