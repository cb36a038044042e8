package io.ferrostate.restore;

import io.ferrostate.backend.Database;
import io.ferrostate.jni.CancelToken;
import io.ferrostate.jni.Native;

import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.FileUtils;
import org.apache.flink.util.IOUtils;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;

/**
 * Restores snapshots that consist of database files (compatibility D11): the files of a snapshot of
 * the same key groups become the database and its history goes on; from any others the rows of the
 * wanted key groups are copied into a new database.
 */
final class IncrementalRestore<K> {

    private static final Logger LOG = LoggerFactory.getLogger(IncrementalRestore.class);

    private final RestoreContext<K> context;
    private final RestoreStep step;
    private final MetaFileReader<K> metaFiles;
    private final StateRegistration registration;
    private final Download download;

    IncrementalRestore(RestoreContext<K> context) {
        this.context = context;
        this.step = new RestoreStep(context.operatorIdentifier());
        this.metaFiles = new MetaFileReader<>(context);
        this.registration = new StateRegistration(context.states());
        this.download = new Download(context.cancelRegistry());
    }

    RestoreResult restore(List<IncrementalKeyedStateHandle> handles) throws Exception {
        IncrementalKeyedStateHandle first = handles.get(0);
        boolean unchanged =
                handles.size() == 1 && first.getKeyGroupRange().equals(context.keyGroupRange());
        return unchanged ? takeOver(first) : copyRows(handles);
    }

    private RestoreResult takeOver(IncrementalKeyedStateHandle handle) throws Exception {
        List<StateMetaInfoSnapshot> states = readMetaFile(handle);
        Path directory = context.databaseDirectory().toPath();
        downloadInto(directory, handle);
        Database database =
                step.run(
                        "opening its files",
                        handle,
                        () -> context.opener().open(context.databaseDirectory()));
        return closeOnFailure(
                database,
                () -> {
                    register(database, states, handle, true);
                    return RestoreResult.continuing(database, handle);
                });
    }

    private RestoreResult copyRows(List<IncrementalKeyedStateHandle> handles) throws Exception {
        Database database = context.opener().open(context.databaseDirectory());
        return closeOnFailure(
                database,
                () -> {
                    for (IncrementalKeyedStateHandle handle : handles) {
                        copyRows(handle, database);
                    }
                    return RestoreResult.withoutHistory(database);
                });
    }

    private void copyRows(IncrementalKeyedStateHandle handle, Database database) throws Exception {
        register(database, readMetaFile(handle), handle, false);
        KeyGroupRange wanted = handle.getKeyGroupRange().getIntersection(context.keyGroupRange());
        if (wanted.getNumberOfKeyGroups() == 0) {
            return;
        }
        Path source = context.instanceDirectory().toPath().resolve("restore-" + UUID.randomUUID());
        try {
            downloadInto(source, handle);
            step.run("copying key groups " + wanted.prettyPrintInterval(), handle,
                    () -> copyRange(source, database, wanted));
        } finally {
            deleteQuietly(source);
        }
    }

    private Void copyRange(Path source, Database database, KeyGroupRange wanted)
            throws IOException {
        byte[] from = context.keyGroupPrefix(wanted.getStartKeyGroup());
        byte[] to = context.keyGroupPrefix(wanted.getEndKeyGroup() + 1);
        try (CancelToken cancel = CancelToken.registeredIn(context.cancelRegistry())) {
            return database.call(
                    target -> {
                        Native.copyRange(source.toString(), target, from, to, cancel.handle());
                        return null;
                    });
        }
    }

    private List<StateMetaInfoSnapshot> readMetaFile(IncrementalKeyedStateHandle handle)
            throws Exception {
        return step.run("reading its meta file", handle,
                () -> metaFiles.read(handle.getMetaDataStateHandle()));
    }

    private void downloadInto(Path directory, IncrementalKeyedStateHandle handle)
            throws Exception {
        step.run(
                "bringing its files into " + directory,
                handle,
                () -> {
                    download.into(directory, handle);
                    return null;
                });
    }

    private void register(
            Database database,
            List<StateMetaInfoSnapshot> states,
            IncrementalKeyedStateHandle handle,
            boolean filesAreThere)
            throws Exception {
        step.run(
                "registering its states",
                handle,
                () -> {
                    if (filesAreThere) {
                        StateRegistration.checkComplete(database, states);
                    }
                    return registration.register(database, states);
                });
    }

    private static RestoreResult closeOnFailure(
            Database database,
            Callable<RestoreResult> body)
            throws Exception {
        boolean done = false;
        try {
            RestoreResult result = body.call();
            done = true;
            return result;
        } finally {
            if (!done) {
                IOUtils.closeQuietly(database);
            }
        }
    }

    private static void deleteQuietly(Path directory) {
        try {
            FileUtils.deleteDirectory(directory.toFile());
        } catch (IOException kept) {
            LOG.warn("Could not delete the temporary directory {}.", directory, kept);
        }
    }
}
