package io.ferrostate.restore;

import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupsSavepointStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Refuses handles that would restore without an error, but to wrong state. Of files it looks only at the
 * first bytes of savepoints in old handles. What is not there is no error: an operator that had no state
 * gives no handle.
 */
final class HandleChecks {

    private final String operatorIdentifier;
    private final int numberOfKeyGroups;

    HandleChecks(RestoreContext<?> context) {
        this.operatorIdentifier = context.operatorIdentifier();
        this.numberOfKeyGroups = context.numberOfKeyGroups();
    }

    void check(List<KeyedStateHandle> handles) throws IOException {
        List<KeyedStateHandle> ordered = new ArrayList<>();
        for (KeyedStateHandle handle : handles) {
            checkFormat(handle);
            checkKeyGroupsExist(handle);
            if (handle.getKeyGroupRange().getNumberOfKeyGroups() > 0) {
                ordered.add(handle);
            }
        }
        ordered.sort(
                Comparator.comparingInt(handle -> handle.getKeyGroupRange().getStartKeyGroup()));
        for (int i = 1; i < ordered.size(); i++) {
            checkApart(ordered.get(i - 1), ordered.get(i));
        }
    }

    /** Heap backends put their own format behind a handle that savepoints had too, before Flink 1.13. */
    private void checkFormat(KeyedStateHandle handle) throws IOException {
        if (handle instanceof KeyGroupsStateHandle
                && !(handle instanceof KeyGroupsSavepointStateHandle)
                && isInHeapFormat((KeyGroupsStateHandle) handle)) {
            throw refused(
                    RestoreStep.nameOf(handle)
                            + " is a checkpoint or native savepoint of the hashmap backend. Only a"
                            + " canonical savepoint can be restored by another backend.");
        }
    }

    private static boolean isInHeapFormat(KeyGroupsStateHandle handle) {
        try {
            return HeapFormat.isIn(handle);
        } catch (IOException unreadable) {
            return false; // the restore itself meets it, and says which file it was
        }
    }

    private void checkKeyGroupsExist(KeyedStateHandle handle) throws IOException {
        KeyGroupRange range = handle.getKeyGroupRange();
        if (range.getNumberOfKeyGroups() > 0 && range.getEndKeyGroup() >= numberOfKeyGroups) {
            throw refused(
                    RestoreStep.nameOf(handle) + " has the key groups "
                            + range.prettyPrintInterval() + ", but the operator has only "
                            + numberOfKeyGroups + ": the maximum parallelism has changed.");
        }
    }

    private void checkApart(KeyedStateHandle first, KeyedStateHandle second) throws IOException {
        KeyGroupRange left = first.getKeyGroupRange();
        KeyGroupRange right = second.getKeyGroupRange();
        if (right.getStartKeyGroup() <= left.getEndKeyGroup()) {
            throw refused(
                    RestoreStep.nameOf(first) + " (key groups " + left.prettyPrintInterval()
                            + ") and " + RestoreStep.nameOf(second) + " (key groups "
                            + right.prettyPrintInterval() + ") both have the state of the same key"
                            + " groups.");
        }
    }

    private IOException refused(String reason) {
        return new IOException(
                "Restore of " + operatorIdentifier + " failed before it began: " + reason
                        + " Nothing of the snapshot was changed.");
    }
}
