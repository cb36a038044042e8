package io.ferrostate.checkpoint;

import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.util.function.RunnableWithException;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Flink's streams of another factory, with something that happens at the n-th close. */
final class FaultyStreams implements CheckpointStreamFactory {

    private final CheckpointStreamFactory streams;
    private final int atStream;
    private final RunnableWithException event;
    private final AtomicInteger closed = new AtomicInteger();

    /** @param event runs instead of giving the handle of the n-th stream, if it throws. */
    FaultyStreams(CheckpointStreamFactory streams, int atStream, RunnableWithException event) {
        this.streams = streams;
        this.atStream = atStream;
        this.event = event;
    }

    static RunnableWithException failure() {
        return () -> {
            throw new IOException("no more room in the store");
        };
    }

    int streamsClosed() {
        return closed.get();
    }

    @Override
    public CheckpointStateOutputStream createCheckpointStateOutputStream(
            CheckpointedStateScope scope) throws IOException {
        return new Stream(streams.createCheckpointStateOutputStream(scope));
    }

    @Override
    public boolean canFastDuplicate(StreamStateHandle handle, CheckpointedStateScope scope) {
        return false;
    }

    @Override
    public List<StreamStateHandle> duplicate(
            List<StreamStateHandle> handles, CheckpointedStateScope scope) {
        throw new UnsupportedOperationException();
    }

    private final class Stream extends CheckpointStateOutputStream {

        private final CheckpointStateOutputStream out;

        Stream(CheckpointStateOutputStream out) {
            this.out = out;
        }

        @Override
        public StreamStateHandle closeAndGetHandle() throws IOException {
            if (closed.incrementAndGet() == atStream) {
                try {
                    event.run();
                } catch (IOException failure) {
                    throw failure;
                } catch (Exception failure) {
                    throw new IOException(failure);
                }
            }
            return out.closeAndGetHandle();
        }

        @Override
        public void write(int b) throws IOException {
            out.write(b);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
        }

        @Override
        public long getPos() throws IOException {
            return out.getPos();
        }

        @Override
        public void flush() throws IOException {
            out.flush();
        }

        @Override
        public void sync() throws IOException {
            out.sync();
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }
}
