package io.ferrostate.examples;

import org.apache.flink.api.connector.sink2.CommittingSinkWriter;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.UUID;

/** Writes rows to a pending file, a new one after each checkpoint. Never touches results. */
final class ResultWriter implements CommittingSinkWriter<String, String> {

    static final String PENDING = "pending-";

    private final Path directory;
    private BufferedWriter pending;
    private String name;

    ResultWriter(Path directory) {
        this.directory = directory;
    }

    @Override
    public void write(String row, Context context) throws IOException {
        if (pending == null) {
            name = UUID.randomUUID().toString();
            pending = Files.newBufferedWriter(directory.resolve(PENDING + name));
        }
        pending.write(row);
        pending.newLine();
    }

    @Override
    public void flush(boolean endOfInput) throws IOException {
        if (pending != null) {
            pending.flush();
        }
    }

    @Override
    public Collection<String> prepareCommit() throws IOException {
        if (pending == null) {
            return Collections.emptyList();
        }
        close();
        return Collections.singleton(name);
    }

    @Override
    public void close() throws IOException {
        if (pending != null) {
            pending.close();
            pending = null;
        }
    }
}
