package io.ferrostate.restore;

import org.apache.flink.runtime.state.CheckpointBoundKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.util.StateMigrationException;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;

/** Names the step of a restore in what it throws: which operator, which snapshot, doing what. */
final class RestoreStep {

    private final String operatorIdentifier;

    RestoreStep(String operatorIdentifier) {
        this.operatorIdentifier = operatorIdentifier;
    }

    /**
     * Runs a step.
     *
     * @param step what it does, as in "Restore ... failed while <i>downloading its files</i>".
     */
    <T> T run(
            String step, KeyedStateHandle handle, Callable<T> body)
            throws Exception {
        try {
            return body.call();
        } catch (StateMigrationException
                | CancellationException
                | InterruptedException notAboutTheStep) {
            throw notAboutTheStep;
        } catch (Exception failure) {
            throw new IOException(
                    String.format(
                            "Restore of %s from %s (key groups %s) failed while %s: %s"
                                    + " Nothing of the snapshot was changed.",
                            operatorIdentifier,
                            nameOf(handle),
                            handle.getKeyGroupRange().prettyPrintInterval(),
                            step,
                            sentence(failure)),
                    failure);
        }
    }

    private static String nameOf(KeyedStateHandle handle) {
        return handle instanceof CheckpointBoundKeyedStateHandle
                ? "checkpoint " + ((CheckpointBoundKeyedStateHandle) handle).getCheckpointId()
                : "a savepoint in " + handle;
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
