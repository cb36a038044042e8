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
import java.util.concurrent.Callable;
import java.util.function.Predicate;

/**
 * The steps that restores of database files are made of, each of which names itself and its snapshot
 * when it fails. Which are taken is decided by {@link IncrementalRestore} and {@link RescaleRestore}.
 */
final class RestoreSteps<K> {

    private static final Logger LOG = LoggerFactory.getLogger(RestoreSteps.class);

    private final RestoreContext<K> context;
    private final RestoreStep step;
    private final MetaFileReader<K> metaFiles;
    private final StateRegistration registration;
    private final Download download;

    RestoreSteps(RestoreContext<K> context) {
        this.context = context;
        this.step = new RestoreStep(context.operatorIdentifier());
        this.metaFiles = new MetaFileReader<>(context);
        this.registration = new StateRegistration(context.states());
        this.download = new Download(context.cancelRegistry());
    }

    RestoreStep step() {
        return step;
    }

    KeyGroupRange wanted(IncrementalKeyedStateHandle handle) {
        return handle.getKeyGroupRange().getIntersection(context.keyGroupRange());
    }

    byte[] firstKey(KeyGroupRange wanted) {
        return context.keyGroupPrefix(wanted.getStartKeyGroup());
    }

    byte[] endKey(KeyGroupRange wanted) {
        return context.keyGroupPrefix(wanted.getEndKeyGroup() + 1);
    }

    List<StateMetaInfoSnapshot> readMetaFile(IncrementalKeyedStateHandle handle)
            throws Exception {
        return step.run("reading its meta file", handle,
                () -> metaFiles.read(handle.getMetaDataStateHandle()));
    }

    /** @param named which files, by local name. */
    void download(Path directory, IncrementalKeyedStateHandle handle, Predicate<String> named)
            throws Exception {
        step.run(
                "bringing its files into " + directory,
                handle,
                () -> {
                    download.into(directory, handle, named);
                    return null;
                });
    }

    /** @param filesAreThere whether the database consists of the snapshot's files. */
    void register(
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
                    return registration.register(database, states, wanted(handle));
                });
    }

    /** Copies the wanted rows of a snapshot, whose files are brought and deleted again. */
    void copyRows(
            IncrementalKeyedStateHandle handle,
            List<StateMetaInfoSnapshot> states,
            Database database,
            Path scratch)
            throws Exception {
        KeyGroupRange wanted = wanted(handle);
        try {
            download(scratch, handle, name -> true);
            step.run("copying key groups " + wanted.prettyPrintInterval(), handle,
                    () -> copyRange(scratch, database, wanted, StateRegistration.names(states)));
        } finally {
            deleteQuietly(scratch);
        }
    }

    private Void copyRange(
            Path source, Database database, KeyGroupRange wanted, String[] states)
            throws IOException {
        try (CancelToken cancel = CancelToken.registeredIn(context.cancelRegistry())) {
            return database.call(
                    target -> {
                        Native.copyRange(
                                source.toString(),
                                target,
                                firstKey(wanted),
                                endKey(wanted),
                                states,
                                cancel.handle());
                        return null;
                    });
        }
    }

    /** What {@code body} makes of the database; it is closed again if that fails. */
    static RestoreResult opened(Callable<Database> opener, DatabaseBody body) throws Exception {
        Database database = opener.call();
        boolean done = false;
        try {
            RestoreResult result = body.run(database);
            done = true;
            return result;
        } finally {
            if (!done) {
                IOUtils.closeQuietly(database);
            }
        }
    }

    static void deleteQuietly(Path directory) {
        try {
            FileUtils.deleteDirectory(directory.toFile());
        } catch (IOException kept) {
            LOG.warn("Could not delete the temporary directory {}.", directory, kept);
        }
    }

    /** What makes a result of an open database. */
    @FunctionalInterface
    interface DatabaseBody {
        RestoreResult run(Database database) throws Exception;
    }
}
