package io.ferrostate.conformance;

import io.ferrostate.backend.KeyedBackends;

import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.InternalPriorityQueue;
import org.apache.flink.runtime.state.InternalPriorityQueueTestBase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;

/** Flink's own tests of a timer queue, on a queue that a keyed backend made. */
@Timeout(60)
abstract class TimerQueueConformance extends InternalPriorityQueueTestBase {

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private AbstractKeyedStateBackend<Long> backend;
    private int queues;

    abstract AbstractStateBackend stateBackend(Path localDirectory);

    @BeforeEach
    final void open() throws IOException {
        backend =
                backends.create(
                        stateBackend(directory),
                        LongSerializer.INSTANCE,
                        KEY_GROUP_RANGE.getNumberOfKeyGroups());
    }

    @AfterEach
    final void close() {
        backend.dispose();
        backends.close();
    }

    @Override
    protected final InternalPriorityQueue<TestElement> newPriorityQueue(int initialCapacity) {
        return backend.create("queue " + queues++, TestElementSerializer.INSTANCE);
    }

    @Override
    protected final boolean testSetSemanticsAgainstDuplicateElements() {
        return true;
    }
}
