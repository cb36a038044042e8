package io.ferrostate.restore;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.StreamStateHandle;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** A state handle's stream that is closed when Flink closes the registry. */
final class CancellableInput extends FilterInputStream {

    private final CloseableRegistry registry;

    private CancellableInput(InputStream in, CloseableRegistry registry) {
        super(in);
        this.registry = registry;
    }

    static InputStream open(StreamStateHandle handle, CloseableRegistry registry)
            throws IOException {
        InputStream in = handle.openInputStream();
        // A registry that is closed already closes the stream and throws.
        registry.registerCloseable(in);
        return new CancellableInput(in, registry);
    }

    @Override
    public void close() throws IOException {
        registry.unregisterCloseable(in);
        super.close();
    }
}
