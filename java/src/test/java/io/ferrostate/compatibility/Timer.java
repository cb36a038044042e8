package io.ferrostate.compatibility;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/**
 * A timer of a window. Which ones a key gets in a round follows from the two; those of event time lie
 * behind the watermark that goes before the round, those of processing time in the year 2096.
 */
final class Timer {

    /** Both before and after 1970: rows flip the sign bit. */
    private static final long FIRST_ROUND = -2_000;

    private static final long MILLIS_PER_ROUND = 1_000;
    private static final long FAR_AWAY = 4_000_000_000_000L;

    final String key;
    final boolean eventTime;
    final long timestamp;

    private Timer(String key, boolean eventTime, long timestamp) {
        this.key = key;
        this.eventTime = eventTime;
        this.timestamp = timestamp;
    }

    static long watermarkBefore(long round) {
        return FIRST_ROUND + round * MILLIS_PER_ROUND;
    }

    static List<Timer> ofRound(String key, long round) {
        Random random = new Random(round * 37 + key.hashCode());
        List<Timer> timers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int later = 1 + random.nextInt(4 * (int) MILLIS_PER_ROUND);
            timers.add(new Timer(key, true, watermarkBefore(round) + later));
            timers.add(new Timer(key, false, FAR_AWAY + random.nextInt(1_000_000)));
        }
        return timers;
    }

    /** Those of a round that the next one deletes: one of each kind, which may have fired. */
    static List<Timer> deletedAfterRound(String key, long round) {
        return ofRound(key, round).subList(0, 2);
    }

    TimeWindow window() {
        return new TimeWindow(timestamp - 1_000, timestamp);
    }

    static String text(String key, boolean eventTime, long timestamp, TimeWindow window) {
        return key + (eventTime ? " | event time | " : " | processing time | ") + timestamp + window;
    }

    @Override
    public String toString() {
        return text(key, eventTime, timestamp, window());
    }
}
