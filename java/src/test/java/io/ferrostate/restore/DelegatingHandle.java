package io.ferrostate.restore;

import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.state.PhysicalStateHandleID;
import org.apache.flink.runtime.state.StreamStateHandle;

import java.io.IOException;
import java.util.Optional;

/** A handle whose bytes only come by its stream, which subclasses interfere with. For tests. */
abstract class DelegatingHandle implements StreamStateHandle {

    private static final long serialVersionUID = 1L;

    private final transient StreamStateHandle handle;

    DelegatingHandle(StreamStateHandle handle) {
        this.handle = handle;
    }

    @Override
    public FSDataInputStream openInputStream() throws IOException {
        return handle.openInputStream();
    }

    @Override
    public final Optional<byte[]> asBytesIfInMemory() {
        return Optional.empty();
    }

    @Override
    public final PhysicalStateHandleID getStreamStateHandleID() {
        return handle.getStreamStateHandleID();
    }

    @Override
    public final void discardState() {}

    @Override
    public final long getStateSize() {
        return handle.getStateSize();
    }
}
