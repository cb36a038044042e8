package io.ferrostate.examples;

import org.apache.flink.api.connector.sink2.Committer.CommitRequest;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.stream.Stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** That rows become results with their checkpoint, once, and never without it. */
@Timeout(20)
class ResultSinkTest {

    @TempDir private Path directory;

    @Test
    void rowsCountOnceCommitted() throws Exception {
        String name = written("a");
        assertEquals(0, results());
        assertFalse(commit(name).isRepeated);
        assertEquals(1, results());
        assertTrue(commit(name).isRepeated);
        assertEquals(1, results());
    }

    @Test
    void rowsOfAFailedAttemptNeverCount() throws Exception {
        try (ResultWriter writer = new ResultWriter(directory)) {
            writer.write("lost", null);
        }
        commit(written("kept"));
        assertEquals(1, results());
    }

    @Test
    void nothingWrittenIsNothingToCommit() throws Exception {
        try (ResultWriter writer = new ResultWriter(directory)) {
            assertTrue(writer.prepareCommit().isEmpty());
        }
    }

    @Test
    void aLostFileIsAnError() {
        IOException lost = assertThrows(IOException.class, () -> commit("never-written"));
        assertTrue(lost.getMessage().contains("never-written"), lost.getMessage());
    }

    private String written(String row) throws Exception {
        try (ResultWriter writer = new ResultWriter(directory)) {
            writer.write(row, null);
            Collection<String> names = writer.prepareCommit();
            assertEquals(1, names.size());
            return names.iterator().next();
        }
    }

    private Request commit(String name) throws Exception {
        Request request = new Request(name);
        try (ResultCommitter committer = new ResultCommitter(directory)) {
            committer.commit(Collections.singleton(request));
        }
        return request;
    }

    private long results() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(f -> f.getFileName().toString().startsWith("rows-")).count();
        }
    }

    /** Remembers whether the commit was a repetition; anything else is not expected here. */
    private static final class Request implements CommitRequest<String> {

        private final String name;
        private boolean isRepeated;

        private Request(String name) {
            this.name = name;
        }

        @Override
        public String getCommittable() {
            return name;
        }

        @Override
        public int getNumberOfRetries() {
            return 0;
        }

        @Override
        public void signalFailedWithKnownReason(Throwable reason) {
            throw new AssertionError(reason);
        }

        @Override
        public void signalFailedWithUnknownReason(Throwable reason) {
            throw new AssertionError(reason);
        }

        @Override
        public void retryLater() {
            throw new AssertionError("retry of " + name);
        }

        @Override
        public void updateAndRetryLater(String other) {
            throw new AssertionError("retry of " + other);
        }

        @Override
        public void signalAlreadyCommitted() {
            isRepeated = true;
        }
    }
}
