package io.ferrostate.jni;

import org.apache.flink.core.fs.ICloseableRegistry;

import java.io.Closeable;
import java.io.IOException;

/**
 * A native cancel flag that is triggered when Flink closes the registry it was registered in. It
 * does not wait for the long native calls that look at it.
 *
 * <p>Invariant: the flag is never touched after {@link #close()}, whichever thread comes late.
 */
public final class CancelToken implements AutoCloseable {

    private final ICloseableRegistry registry;
    private final Closeable trigger = this::trigger;

    /** 0 once closed. */
    private long handle;

    private boolean triggered;

    private CancelToken(ICloseableRegistry registry) {
        this.registry = registry;
        this.handle = Native.cancelOpen();
    }

    /** Fails if the registry is closed already. */
    public static CancelToken registeredIn(ICloseableRegistry registry) throws IOException {
        CancelToken token = new CancelToken(registry);
        try {
            registry.registerCloseable(token.trigger);
        } catch (IOException | RuntimeException closed) {
            token.close();
            throw closed;
        }
        return token;
    }

    /** For the native calls of the thread that closes this token. */
    public synchronized long handle() {
        return handle;
    }

    public synchronized boolean isTriggered() {
        return triggered;
    }

    /**
     * Ends cancellation: true if nobody cancelled until now, and from now on nobody can.
     */
    public boolean release() {
        return registry.unregisterCloseable(trigger) && !isTriggered();
    }

    private synchronized void trigger() {
        triggered = true;
        if (handle != 0) {
            Native.cancelTrigger(handle);
        }
    }

    @Override
    public void close() {
        registry.unregisterCloseable(trigger);
        synchronized (this) {
            long closing = handle;
            handle = 0;
            if (closing != 0) {
                Native.cancelClose(closing);
            }
        }
    }
}
