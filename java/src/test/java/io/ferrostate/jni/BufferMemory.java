package io.ferrostate.jni;

import java.nio.ByteBuffer;

/** Memory of a page without the library: a direct buffer. Tells whether it was closed. */
final class BufferMemory implements Page.Memory {

    private ByteBuffer buffer;
    private int closed;

    static Page page(int capacity) {
        return new Page(new BufferMemory(), capacity);
    }

    @Override
    public ByteBuffer resize(int capacity) {
        ByteBuffer resized = ByteBuffer.allocateDirect(capacity);
        if (buffer != null) {
            buffer.clear().limit(Math.min(buffer.capacity(), capacity));
            resized.put(buffer);
            resized.clear();
        }
        buffer = resized;
        return resized;
    }

    @Override
    public void close() {
        closed++;
    }

    int closed() {
        return closed;
    }
}
