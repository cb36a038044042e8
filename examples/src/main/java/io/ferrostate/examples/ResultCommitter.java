package io.ferrostate.examples;

import org.apache.flink.api.connector.sink2.Committer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collection;

/** Turns pending files into results by a rename. Committing a file again changes nothing. */
final class ResultCommitter implements Committer<String> {

    static final String COMMITTED = "rows-";

    private final Path directory;

    ResultCommitter(Path directory) {
        this.directory = directory;
    }

    @Override
    public void commit(Collection<CommitRequest<String>> requests) throws IOException {
        for (CommitRequest<String> request : requests) {
            if (!commit(request.getCommittable())) {
                request.signalAlreadyCommitted();
            }
        }
    }

    private boolean commit(String name) throws IOException {
        Path committed = directory.resolve(COMMITTED + name);
        if (Files.exists(committed)) {
            return false;
        }
        Path pending = directory.resolve(ResultWriter.PENDING + name);
        try {
            Files.move(pending, committed, StandardCopyOption.ATOMIC_MOVE);
        } catch (NoSuchFileException e) {
            throw new IOException("Rows of a completed checkpoint are gone: " + pending, e);
        }
        return true;
    }

    @Override
    public void close() {}
}
