package io.ferrostate.bench.door;

import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;

/** Off-heap memory with its address, for bytes that are copied in and out as a whole. */
final class TestPage {

    final MemorySegment segment;
    final long address;

    TestPage(byte[] content) {
        this(content.length);
        segment.put(0, content);
    }

    TestPage(int capacity) {
        segment = MemorySegmentFactory.allocateOffHeapUnsafeMemory(capacity);
        address = segment.getAddress();
    }
}
