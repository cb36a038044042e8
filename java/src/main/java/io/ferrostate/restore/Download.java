package io.ferrostate.restore;

import io.ferrostate.checkpoint.ParallelTransfer;
import io.ferrostate.jni.CancelToken;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.PathSpelling;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Brings the database files of a snapshot into a local directory: through the library what it
 * reaches, from the handle what is inline, through Flink's streams the rest. Only ever reads the
 * snapshot.
 */
final class Download {

    private static final int BUFFER_SIZE = 64 * 1024;

    private final CloseableRegistry cancelRegistry;

    Download(CloseableRegistry cancelRegistry) {
        this.cancelRegistry = cancelRegistry;
    }

    /**
     * @param directory created when absent; must not have the files yet.
     * @param named which of the snapshot's files, by local name.
     */
    void into(Path directory, IncrementalKeyedStateHandle handle, Predicate<String> named)
            throws Exception {
        Files.createDirectories(directory);
        if (handle instanceof IncrementalRemoteKeyedStateHandle) {
            IncrementalRemoteKeyedStateHandle remote = (IncrementalRemoteKeyedStateHandle) handle;
            List<HandleAndLocalPath> files = new ArrayList<>(remote.getSharedState());
            files.addAll(remote.getPrivateState());
            files.removeIf(file -> !named.test(file.getLocalPath()));
            remoteFiles(directory, files);
        } else {
            localFiles(directory, (IncrementalLocalKeyedStateHandle) handle, named);
        }
    }

    private void remoteFiles(Path directory, List<HandleAndLocalPath> files) throws Exception {
        NativeFiles direct = new NativeFiles();
        List<Callable<Void>> streams = new ArrayList<>();
        for (HandleAndLocalPath file : files) {
            StreamStateHandle handle = file.getHandle();
            Path target = targetOf(directory, file);
            if (isDirect(handle)) {
                direct.add(((FileStateHandle) handle).getFilePath().toUri().toString(),
                        handle.getStateSize(), file.getLocalPath());
                continue;
            }
            Optional<byte[]> inline = handle.asBytesIfInMemory();
            if (inline.isPresent()) {
                Files.write(target, inline.get(), StandardOpenOption.CREATE_NEW);
            } else {
                streams.add(() -> copy(handle, target));
            }
        }
        direct.downloadInto(directory, cancelRegistry);
        ParallelTransfer.run("ferrostate-download", streams);
    }

    /** The directory belongs to local recovery: the database must not work in it. */
    private void localFiles(
            Path directory, IncrementalLocalKeyedStateHandle handle, Predicate<String> named)
            throws IOException {
        Path source = handle.getDirectoryStateHandle().getDirectory();
        NativeFiles direct = new NativeFiles();
        try (Stream<Path> listed = Files.list(source)) {
            for (Path file : listed.collect(Collectors.toList())) {
                String name = file.getFileName().toString();
                if (named.test(name)) {
                    direct.add(file.toUri().toString(), Files.size(file), name);
                }
            }
        }
        direct.downloadInto(directory, cancelRegistry);
    }

    private static Path targetOf(Path directory, HandleAndLocalPath file) throws IOException {
        String name = file.getLocalPath();
        if (file.getHandle() instanceof PlaceholderStreamStateHandle) {
            throw new IOException(
                    "The file '" + name + "' is only a placeholder for "
                            + file.getHandle().getStreamStateHandleID().getKeyString());
        }
        Path target = directory.resolve(name);
        if (name.isEmpty() || !target.normalize().getParent().equals(directory.normalize())) {
            throw new IOException("The handle names '" + name + "', which is not a file name");
        }
        return target;
    }

    private static boolean isDirect(StreamStateHandle handle) {
        Class<?> type = handle.getClass();
        return (type == FileStateHandle.class || type == RelativeFileStateHandle.class)
                && handle.getStateSize() >= 0
                && isReached(((FileStateHandle) handle).getFilePath());
    }

    private static boolean isReached(org.apache.flink.core.fs.Path file) {
        return PathSpelling.isShared(file.getPath())
                && Native.storeReaches(file.toUri().toString());
    }

    private Void copy(StreamStateHandle handle, Path target) throws IOException {
        long size = 0;
        try (InputStream in = CancellableInput.open(handle, cancelRegistry);
                OutputStream out = Files.newOutputStream(target, StandardOpenOption.CREATE_NEW)) {
            byte[] buffer = new byte[BUFFER_SIZE];
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                out.write(buffer, 0, count);
                size += count;
            }
        } catch (IOException failure) {
            throw new IOException(nameOf(handle, target) + ": " + failure.getMessage(), failure);
        }
        if (handle.getStateSize() >= 0 && size != handle.getStateSize()) {
            throw new IOException(
                    String.format(
                            "%s has %d bytes instead of %d",
                            nameOf(handle, target), size, handle.getStateSize()));
        }
        return null;
    }

    private static String nameOf(StreamStateHandle handle, Path target) {
        return "The file '" + target.getFileName() + "' from "
                + handle.getStreamStateHandleID().getKeyString();
    }

    /** Collects what one native call transfers. */
    private static final class NativeFiles {

        private final List<String> uris = new ArrayList<>();
        private final List<Long> sizes = new ArrayList<>();
        private final List<String> names = new ArrayList<>();

        void add(String uri, long size, String name) {
            uris.add(uri);
            sizes.add(size);
            names.add(name);
        }

        void downloadInto(Path directory, CloseableRegistry cancelRegistry) throws IOException {
            if (uris.isEmpty()) {
                return;
            }
            try (CancelToken cancel = CancelToken.registeredIn(cancelRegistry)) {
                Native.download(
                        uris.toArray(new String[0]),
                        sizes.stream().mapToLong(Long::longValue).toArray(),
                        directory.toString(),
                        names.toArray(new String[0]),
                        cancel.handle());
            }
        }
    }
}
