package io.ferrostate.examples;

import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * Collects result rows exactly once: what is written between two checkpoints is one pending file,
 * and becomes a result by a rename when its checkpoint is complete. A committable is the name of
 * that file.
 */
final class ResultSink implements Sink<String>, SupportsCommitter<String> {

    private static final long serialVersionUID = 1L;

    private final String directory;

    ResultSink(Path directory) {
        this.directory = directory.toString();
    }

    @Override
    public CommittingSinkWriter<String, String> createWriter(WriterInitContext context) {
        return new ResultWriter(Path.of(directory));
    }

    @Override
    public Committer<String> createCommitter(CommitterInitContext context) {
        return new ResultCommitter(Path.of(directory));
    }

    @Override
    public SimpleVersionedSerializer<String> getCommittableSerializer() {
        return new Utf8();
    }

    private static final class Utf8 implements SimpleVersionedSerializer<String> {

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(String name) {
            return name.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String deserialize(int version, byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }
}
