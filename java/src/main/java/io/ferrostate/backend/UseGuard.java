package io.ferrostate.backend;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Keeps two threads from using the pages of one backend at once. State belongs to the task's thread:
 * a second one, which Flink never brings but user code may, gets an exception instead of somebody
 * else's memory. Nor does one thread use them twice at once: a serializer that touches state of the
 * backend it is called by would have its half-written value mixed up with another. Costs one
 * compare-and-set a use.
 */
final class UseGuard {

    private static final int FREE = 0;
    private static final int USED = 1;
    private static final int CLOSED = 2;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(UseGuard.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("unused") // by STATE
    private int state;

    /** Null unless used, so that no thread finds itself here that is not inside. */
    private Thread user;

    void enter() {
        if (STATE.compareAndSet(this, FREE, USED)) {
            user = Thread.currentThread();
        } else {
            throw refused();
        }
    }

    private IllegalStateException refused() {
        Thread other = user;
        if (other == Thread.currentThread()) {
            return usedAgain("State was used");
        }
        if ((int) STATE.getAcquire(this) == CLOSED) {
            return new IllegalStateException("The state backend was disposed.");
        }
        return new IllegalStateException(
                "Keyed state is used by two threads at once: by " + Thread.currentThread() + " and "
                        + (other == null ? "another one" : other)
                        + ". It belongs to the task's thread alone.");
    }

    private static IllegalStateException usedAgain(String what) {
        return new IllegalStateException(
                what + " while another use of state of the same operator goes on, by one of its"
                        + " serializers. Serializers must not touch state.");
    }

    void exit() {
        user = null;
        STATE.setRelease(this, FREE);
    }

    /** Throws if this thread is inside: it would wait for itself. */
    void checkNotInside() {
        if (user == Thread.currentThread()) {
            throw usedAgain("The state backend was to be disposed");
        }
    }

    /** Waits until nobody is inside; from then on nobody enters. */
    void close() {
        checkNotInside();
        while (!STATE.compareAndSet(this, FREE, CLOSED)) {
            if ((int) STATE.getAcquire(this) == CLOSED) {
                return;
            }
            Thread.onSpinWait();
        }
    }
}
