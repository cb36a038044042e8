package io.ferrostate.tool;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.OperatorStreamStateHandle;
import org.apache.flink.runtime.state.StateObject;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

/** Which files a checkpoint needs, read by Flink's classes: what the command-line tool is compared with. */
final class FlinkFiles {

    private final Set<String> paths = new TreeSet<>();

    private FlinkFiles() {}

    static Set<String> of(Path metadata) throws IOException {
        FlinkFiles files = new FlinkFiles();
        for (OperatorState operator : FlinkSizes.load(metadata).getOperatorStates()) {
            files.add(operator.getCoordinatorState());
            for (OperatorSubtaskState subtask : operator.getStates()) {
                subtask.getManagedKeyedState().forEach(files::add);
                subtask.getRawKeyedState().forEach(files::add);
                subtask.getManagedOperatorState().forEach(files::add);
                subtask.getRawOperatorState().forEach(files::add);
            }
        }
        return files.paths;
    }

    private void add(StateObject handle) {
        if (handle instanceof FileStateHandle) {
            paths.add(((FileStateHandle) handle).getFilePath().getPath());
        } else if (handle instanceof KeyGroupsStateHandle) {
            add(((KeyGroupsStateHandle) handle).getDelegateStateHandle());
        } else if (handle instanceof OperatorStreamStateHandle) {
            add(((OperatorStreamStateHandle) handle).getDelegateStateHandle());
        } else if (handle instanceof IncrementalRemoteKeyedStateHandle) {
            IncrementalRemoteKeyedStateHandle database = (IncrementalRemoteKeyedStateHandle) handle;
            add(database.getMetaDataStateHandle());
            database.getSharedState().stream().map(HandleAndLocalPath::getHandle).forEach(this::add);
            database.getPrivateState().stream().map(HandleAndLocalPath::getHandle).forEach(this::add);
        } else if (handle != null && !(handle instanceof ByteStreamStateHandle)) {
            throw new IllegalStateException("a handle of another kind: " + handle.getClass());
        }
    }
}
