package io.ferrostate.restore;

import io.ferrostate.backend.Database;
import io.ferrostate.checkpoint.ParallelTransfer;

import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.FileNotFoundException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;

/**
 * Restores snapshots of other key groups: the files with wanted keys, and only these, are brought and
 * become files of a new database, which goes on with them (docs/decisions/0006). Where that cannot be
 * done the wanted rows are copied.
 */
final class RescaleRestore<K> {

    private static final Logger LOG = LoggerFactory.getLogger(RescaleRestore.class);

    private final RestoreContext<K> context;
    private final RestoreSteps<K> steps;
    private final Path scratch;

    private final List<IncrementalKeyedStateHandle> wanted = new ArrayList<>();

    /** Of each of the wanted snapshots. */
    private final List<List<StateMetaInfoSnapshot>> wantedStates = new ArrayList<>();

    /** Places of those of the wanted snapshots whose rows must be copied. */
    private final List<Integer> toCopy = new ArrayList<>();

    RescaleRestore(RestoreContext<K> context, RestoreSteps<K> steps) {
        this.context = context;
        this.steps = steps;
        this.scratch =
                context.instanceDirectory().toPath().resolve("restore-" + UUID.randomUUID());
    }

    RestoreResult restore(List<IncrementalKeyedStateHandle> handles) throws Exception {
        List<List<StateMetaInfoSnapshot>> states = new ArrayList<>(handles.size());
        for (IncrementalKeyedStateHandle handle : handles) {
            states.add(steps.readMetaFile(handle));
            if (steps.wanted(handle).getNumberOfKeyGroups() > 0) {
                wanted.add(handle);
                wantedStates.add(states.get(states.size() - 1));
            }
        }
        try (FileImport parts =
                new FileImport(context.databaseOptions(), context.cancelRegistry())) {
            List<HandleAndLocalPath> shared = importFiles(parts);
            return RestoreSteps.opened(
                    () -> steps.step().run("opening the new database", wanted, context::openDatabase),
                    database -> {
                        for (int i = 0; i < handles.size(); i++) {
                            steps.register(database, states.get(i), handles.get(i), false);
                        }
                        if (shared != null) {
                            finish(parts, database);
                        }
                        copyRows(database);
                        return result(database, shared, parts.privateFiles());
                    });
        } finally {
            RestoreSteps.deleteQuietly(scratch);
        }
    }

    /** Makes the database; null if there is none yet. */
    private List<HandleAndLocalPath> importFiles(FileImport parts) throws Exception {
        List<Callable<Boolean>> preparations = new ArrayList<>(wanted.size());
        for (int i = 0; i < wanted.size(); i++) {
            IncrementalKeyedStateHandle handle = wanted.get(i);
            List<StateMetaInfoSnapshot> states = wantedStates.get(i);
            Path directory = scratch.resolve("part-" + i);
            preparations.add(() -> prepare(parts, handle, states, directory));
        }
        List<Boolean> prepared = ParallelTransfer.run("ferrostate-rescale", preparations);
        for (int i = 0; i < wanted.size(); i++) {
            if (!prepared.get(i)) {
                toCopy.add(i);
            }
        }
        if (parts.isEmpty()) {
            return null;
        }
        List<HandleAndLocalPath> shared =
                steps.step()
                        .run(
                                "importing their files",
                                wanted,
                                () ->
                                        parts.run(
                                                context.databaseDirectory().toPath(),
                                                scratch.resolve("clipped")));
        if (shared == null) {
            toCopy.clear();
            IntStream.range(0, wanted.size()).forEach(toCopy::add);
        }
        return shared;
    }

    /** Brings the files of a part; false if its rows must be copied. */
    private boolean prepare(
            FileImport parts,
            IncrementalKeyedStateHandle handle,
            List<StateMetaInfoSnapshot> states,
            Path directory)
            throws Exception {
        KeyGroupRange keyGroups = steps.wanted(handle);
        steps.download(directory, handle, name -> !name.endsWith(".sst"));
        Set<String> files =
                steps.step()
                        .run(
                                "reading which files it has",
                                handle,
                                () ->
                                        parts.add(
                                                handle,
                                                directory,
                                                steps.firstKey(keyGroups),
                                                steps.endKey(keyGroups),
                                                states));
        if (files == null) {
            RestoreSteps.deleteQuietly(directory);
            return false;
        }
        Set<String> missing = new TreeSet<>(files);
        steps.download(
                directory,
                handle,
                name -> {
                    missing.remove(name);
                    return files.contains(name);
                });
        steps.step().run("looking for its files", handle, () -> checkNone(missing));
        return true;
    }

    private static Void checkNone(Set<String> missing) throws FileNotFoundException {
        if (!missing.isEmpty()) {
            throw new FileNotFoundException(
                    "its MANIFEST names the files " + missing + ", which the snapshot has not");
        }
        return null;
    }

    private void finish(FileImport parts, Database database) throws Exception {
        steps.step()
                .run(
                        "finishing the import",
                        wanted,
                        () -> {
                            parts.finish(database);
                            return null;
                        });
    }

    private void copyRows(Database database) throws Exception {
        for (int i : toCopy) {
            steps.copyRows(
                    wanted.get(i), wantedStates.get(i), database, scratch.resolve("rows-" + i));
        }
    }

    private RestoreResult result(
            Database database,
            List<HandleAndLocalPath> shared,
            List<HandleAndLocalPath> privateFiles) {
        if (shared == null || shared.isEmpty() && privateFiles.isEmpty()) {
            return RestoreResult.withoutHistory(database);
        }
        LOG.info(
                "{} goes on with {} files ({} bytes) that {} snapshot(s) hold: an incremental checkpoint"
                        + " refers to them, the first one after a NO_CLAIM restore has copies of them.",
                context.operatorIdentifier(),
                shared.size(),
                shared.stream().mapToLong(HandleAndLocalPath::getStateSize).sum(),
                wanted.size());
        // All snapshots are of one checkpoint.
        return RestoreResult.ofFiles(
                database, wanted.get(0).getCheckpointId(), shared, privateFiles);
    }
}
