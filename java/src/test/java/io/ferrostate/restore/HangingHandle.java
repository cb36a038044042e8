package io.ferrostate.restore;

import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.FSDataInputStreamWrapper;
import org.apache.flink.runtime.state.StreamStateHandle;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;

/** A store that answers so many bytes and then no more, until the stream is closed. For tests. */
final class HangingHandle extends DelegatingHandle {

    private static final long serialVersionUID = 1L;

    private final transient CountDownLatch hanging = new CountDownLatch(1);
    private final long bytes;

    HangingHandle(StreamStateHandle handle, long bytes) {
        super(handle);
        this.bytes = bytes;
    }

    /** Waits until somebody waits for bytes. */
    void awaitHanging() throws InterruptedException {
        hanging.await();
    }

    @Override
    public FSDataInputStream openInputStream() throws IOException {
        return new Stream(super.openInputStream());
    }

    private final class Stream extends FSDataInputStreamWrapper {

        private final CountDownLatch closed = new CountDownLatch(1);

        private Stream(FSDataInputStream in) {
            super(in);
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target) throws IOException {
            return read(target, 0, target.length);
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            long left = bytes - getPos();
            if (left > 0) {
                return super.read(target, offset, (int) Math.min(left, length));
            }
            hanging.countDown();
            boolean ended = false;
            while (!ended) {
                try {
                    closed.await();
                    ended = true;
                } catch (InterruptedException stubborn) {
                    // As a socket: only closing it helps.
                }
            }
            throw new IOException("Stream closed.");
        }

        @Override
        public void close() throws IOException {
            closed.countDown();
            super.close();
        }
    }
}
