package io.ferrostate.backend;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Keeps two threads from using the pages of one backend at once. State belongs to the task's thread:
 * a second one, which Flink never brings but user code may, gets an exception instead of somebody
 * else's memory. Costs one compare-and-set a use; a thread may enter again what it has entered.
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

    /** How often the user has entered again. */
    private int depth;

    void enter() {
        if (STATE.compareAndSet(this, FREE, USED)) {
            user = Thread.currentThread();
        } else {
            enterAgain();
        }
    }

    private void enterAgain() {
        Thread other = user;
        if (other == Thread.currentThread()) {
            depth++;
            return;
        }
        if ((int) STATE.getAcquire(this) == CLOSED) {
            throw new IllegalStateException("The state backend was disposed.");
        }
        throw new IllegalStateException(
                "Keyed state is used by two threads at once: by " + Thread.currentThread() + " and "
                        + (other == null ? "another one" : other)
                        + ". It belongs to the task's thread alone.");
    }

    void exit() {
        if (depth > 0) {
            depth--;
            return;
        }
        user = null;
        STATE.setRelease(this, FREE);
    }

    /** Waits until nobody is inside; from then on nobody enters. */
    void close() {
        while (!STATE.compareAndSet(this, FREE, CLOSED)) {
            if ((int) STATE.getAcquire(this) == CLOSED) {
                return;
            }
            Thread.onSpinWait();
        }
    }
}
