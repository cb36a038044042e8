package io.ferrostate.checkpoint;

import io.ferrostate.jni.Native;

import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Uploads through the library, and builds the handles that Flink's own streams would have given:
 * the same classes, spelling and placement (compatibility D9).
 */
final class DirectUpload implements FileUpload {

    private static final int COLUMNS = 2;

    private final DirectTarget target;

    DirectUpload(DirectTarget target) {
        this.target = target;
    }

    @Override
    public Result upload(
            java.nio.file.Path localDirectory,
            List<PlannedFile> files,
            CheckpointedStateScope scope,
            SnapshotGuard guard)
            throws IOException {
        Path directory = target.directory(scope);
        StreamStateHandle[] handles = new StreamStateHandle[files.size()];
        // Inline files first: once objects exist, nothing may fail before the guard knows them.
        for (int i = 0; i < handles.length; i++) {
            if (isInline(files.get(i))) {
                handles[i] = inline(localDirectory, files.get(i), directory);
            }
        }
        String[] objects = transfer(localDirectory, files, directory, guard);
        int next = 0;
        Result result = new Result();
        for (int i = 0; i < handles.length; i++) {
            PlannedFile file = files.get(i);
            if (handles[i] != null) {
                result.add(guard.created(handles[i]), file, false);
                continue;
            }
            StreamStateHandle handle = stored(objects[next], file, directory, scope);
            result.add(guard.created(handle), file, "copied".equals(objects[next + 1]));
            next += COLUMNS;
        }
        return result;
    }

    private boolean isInline(PlannedFile file) {
        return file.size() <= target.inlineThreshold();
    }

    private String[] transfer(
            java.nio.file.Path localDirectory,
            List<PlannedFile> files,
            Path directory,
            SnapshotGuard guard)
            throws IOException {
        List<String> names = new ArrayList<>();
        List<String> sources = new ArrayList<>();
        for (PlannedFile file : files) {
            if (!isInline(file)) {
                names.add(file.name());
                sources.add(file.copySource() == null ? "" : file.copySource());
            }
        }
        if (names.isEmpty()) {
            return new String[0];
        }
        return Native.upload(
                localDirectory.toString(),
                names.toArray(new String[0]),
                sources.toArray(new String[0]),
                directory.toUri().toString(),
                guard.cancel());
    }

    /** Named like the path it would have had, as Flink does. */
    private static StreamStateHandle inline(
            java.nio.file.Path localDirectory, PlannedFile file, Path directory)
            throws IOException {
        String name = new Path(directory, UUID.randomUUID().toString()).toString();
        return new ByteStreamStateHandle(
                name, Files.readAllBytes(localDirectory.resolve(file.name())));
    }

    private static StreamStateHandle stored(
            String uri, PlannedFile file, Path directory, CheckpointedStateScope scope) {
        String name = uri.substring(uri.lastIndexOf('/') + 1);
        Path path = new Path(directory, name);
        return scope == CheckpointedStateScope.SHARED
                ? new FileStateHandle(path, file.size())
                : new RelativeFileStateHandle(path, name, file.size());
    }
}
