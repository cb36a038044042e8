package io.ferrostate.backend;

import io.ferrostate.jni.Native;

import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

import java.io.IOException;

/**
 * Tells the library what time it is for values with a time to live. Rust never calls Java, so that a
 * clock of the user's is pushed: whenever Flink reads it through here, the library has that reading
 * before Flink acts on it. What compactions drop had expired by a time that Flink has seen, and no
 * value is written with a timestamp that the library does not know of, even if the clock goes back.
 * Between two readings the library's time stands still, and expired values only stay longer.
 */
final class TtlClock implements TtlTimeProvider {

    private final TtlTimeProvider provider;
    private final Database database;

    /** What the library was told last; guarded by this object, as is the order of readings. */
    private long told = Long.MIN_VALUE;

    private TtlClock(TtlTimeProvider provider, Database database) {
        this.provider = provider;
        this.database = database;
    }

    /**
     * The time provider to be used instead of a given one. Flink's default is the system's clock,
     * which the library reads itself.
     */
    static TtlTimeProvider of(TtlTimeProvider provider, Database database) throws IOException {
        if (provider == TtlTimeProvider.DEFAULT) {
            database.whileOpen(Native::ttlSystemTime);
            return provider;
        }
        TtlClock clock = new TtlClock(provider, database);
        clock.currentTimestamp();
        return clock;
    }

    @Override
    public synchronized long currentTimestamp() {
        long now = provider.currentTimestamp();
        if (now != told) {
            tell(now);
        }
        return now;
    }

    private void tell(long now) {
        try {
            // A savepoint that is still being written may ask after the database was closed.
            database.whileOpen(handle -> Native.ttlTime(handle, now));
            told = now;
        } catch (IOException e) {
            throw new IllegalStateException("Could not tell the library the time.", e);
        }
    }
}
