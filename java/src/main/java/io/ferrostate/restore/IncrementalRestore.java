package io.ferrostate.restore;

import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;

import java.nio.file.Path;
import java.util.List;

/**
 * Restores snapshots that consist of database files (compatibility D11). The files of one snapshot of
 * the same key groups become the database and its history goes on; all others are left to {@link
 * RescaleRestore}.
 */
final class IncrementalRestore<K> {

    private final RestoreContext<K> context;
    private final RestoreSteps<K> steps;

    IncrementalRestore(RestoreContext<K> context) {
        this.context = context;
        this.steps = new RestoreSteps<>(context);
    }

    RestoreResult restore(List<IncrementalKeyedStateHandle> handles) throws Exception {
        IncrementalKeyedStateHandle first = handles.get(0);
        boolean unchanged =
                handles.size() == 1 && first.getKeyGroupRange().equals(context.keyGroupRange());
        return unchanged
                ? takeOver(first)
                : new RescaleRestore<>(context, steps).restore(handles);
    }

    private RestoreResult takeOver(IncrementalKeyedStateHandle handle) throws Exception {
        List<StateMetaInfoSnapshot> states = steps.readMetaFile(handle);
        Path directory = context.databaseDirectory().toPath();
        steps.download(directory, handle, name -> true);
        return RestoreSteps.opened(
                () -> steps.step().run("opening its files", handle, context::openDatabase),
                database -> {
                    steps.register(database, states, handle, true);
                    return RestoreResult.continuing(database, handle);
                });
    }
}
