package io.ferrostate.restore;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.FSDataInputStreamWrapper;
import org.apache.flink.runtime.state.KeyGroupsSavepointStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;

import java.io.IOException;

/** A state handle's stream that is closed when Flink closes the registry. */
final class CancellableInput extends FSDataInputStreamWrapper {

    private final CloseableRegistry registry;

    private CancellableInput(FSDataInputStream in, CloseableRegistry registry) {
        super(in);
        this.registry = registry;
    }

    static FSDataInputStream open(StreamStateHandle handle, CloseableRegistry registry)
            throws IOException {
        FSDataInputStream in = handle.openInputStream();
        // A registry that is closed already closes the stream and throws.
        registry.registerCloseable(in);
        return new CancellableInput(in, registry);
    }

    /** The savepoint with such streams: Flink's reader of savepoints knows no registry. */
    static KeyGroupsStateHandle savepoint(
            KeyGroupsStateHandle handle, CloseableRegistry registry) {
        return new Savepoint(handle, registry);
    }

    @Override
    public void close() throws IOException {
        registry.unregisterCloseable(inputStream);
        super.close();
    }

    private static final class Savepoint extends KeyGroupsSavepointStateHandle {

        private static final long serialVersionUID = 1L;

        private final transient CloseableRegistry registry;

        private Savepoint(KeyGroupsStateHandle handle, CloseableRegistry registry) {
            super(handle.getGroupRangeOffsets(), handle.getDelegateStateHandle());
            this.registry = registry;
        }

        @Override
        public FSDataInputStream openInputStream() throws IOException {
            return open(getDelegateStateHandle(), registry);
        }
    }
}
