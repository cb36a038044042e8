package io.ferrostate.jni;

import java.nio.ByteBuffer;

/** Pages that need no library, for measuring what Java does with them. In this package to reach in. */
public final class BenchPages {

    private BenchPages() {}

    /** A page over a direct buffer; it cannot grow. */
    public static Page direct(int capacity) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(capacity);
        return new Page(new Fixed(buffer), capacity);
    }

    private static final class Fixed implements Page.Memory {

        private final ByteBuffer buffer;

        Fixed(ByteBuffer buffer) {
            this.buffer = buffer;
        }

        @Override
        public ByteBuffer resize(int capacity) {
            if (capacity != buffer.capacity()) {
                throw new IllegalStateException("A benchmark's page is too small: " + capacity);
            }
            return buffer;
        }

        @Override
        public void close() {}
    }
}
