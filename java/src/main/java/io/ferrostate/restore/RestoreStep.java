package io.ferrostate.restore;

import org.apache.flink.runtime.state.CheckpointBoundKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.util.StateMigrationException;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Names the step of a restore in what it throws: which operator, which snapshot, doing what. */
final class RestoreStep {

    /** Is called before each step, with its name. */
    @FunctionalInterface
    interface Failpoint {
        void before(String step) throws Exception;
    }

    /** For tests, which fail or cancel there. */
    static volatile Failpoint failpoint = step -> {};

    private final String operatorIdentifier;

    RestoreStep(String operatorIdentifier) {
        this.operatorIdentifier = operatorIdentifier;
    }

    /**
     * Runs a step.
     *
     * @param step what it does, as in "Restore ... failed while <i>downloading its files</i>".
     */
    <T> T run(String step, KeyedStateHandle handle, Callable<T> body) throws Exception {
        return run(step, Collections.singletonList(handle), body);
    }

    /** As the other, for a step that needs all of some snapshots. */
    <T> T run(String step, List<? extends KeyedStateHandle> handles, Callable<T> body)
            throws Exception {
        try {
            failpoint.before(step);
            return body.call();
        } catch (StateMigrationException
                | CancellationException
                | InterruptedException notAboutTheStep) {
            throw notAboutTheStep;
        } catch (Exception failure) {
            throw new IOException(
                    String.format(
                            "Restore of %s from %s failed while %s: %s%s"
                                    + " Nothing of the snapshot was changed.",
                            operatorIdentifier,
                            handles.stream()
                                    .map(RestoreStep::withKeyGroups)
                                    .collect(Collectors.joining(", ")),
                            step,
                            sentence(failure),
                            handles.stream()
                                    .map(handle -> origin(handle, sentence(failure)))
                                    .collect(Collectors.joining())),
                    failure);
        }
    }

    private static String withKeyGroups(KeyedStateHandle handle) {
        return nameOf(handle) + " (key groups "
                + handle.getKeyGroupRange().prettyPrintInterval() + ")";
    }

    /** Local copies are gone when somebody reads the message: says where the files come from. */
    private static String origin(KeyedStateHandle handle, String text) {
        if (!(handle instanceof IncrementalRemoteKeyedStateHandle)) {
            return "";
        }
        IncrementalRemoteKeyedStateHandle remote = (IncrementalRemoteKeyedStateHandle) handle;
        return Stream.concat(remote.getSharedState().stream(), remote.getPrivateState().stream())
                .filter(file -> text.contains('/' + file.getLocalPath()))
                .map(file -> " " + file.getLocalPath() + " is a copy of " + uriOf(file) + '.')
                .collect(Collectors.joining());
    }

    private static String uriOf(HandleAndLocalPath file) {
        return file.getHandle().getStreamStateHandleID().getKeyString();
    }

    /** Short: a handle's own text lists every file. */
    static String nameOf(KeyedStateHandle handle) {
        if (handle instanceof IncrementalLocalKeyedStateHandle) {
            IncrementalLocalKeyedStateHandle local = (IncrementalLocalKeyedStateHandle) handle;
            return "the local copy of checkpoint " + local.getCheckpointId() + " in "
                    + local.getDirectoryStateHandle().getDirectory();
        }
        if (handle instanceof CheckpointBoundKeyedStateHandle) {
            return "checkpoint " + ((CheckpointBoundKeyedStateHandle) handle).getCheckpointId();
        }
        return handle instanceof KeyGroupsStateHandle
                ? "the savepoint in "
                        + ((KeyGroupsStateHandle) handle).getStreamStateHandleID().getKeyString()
                : "a " + handle.getClass().getSimpleName();
    }

    private static String sentence(Exception failure) {
        String message = failure.getMessage();
        String text =
                message == null || message.isEmpty()
                        ? failure.getClass().getSimpleName()
                        : message;
        return text.endsWith(".") ? text : text + '.';
    }
}
