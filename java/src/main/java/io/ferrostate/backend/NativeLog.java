package io.ferrostate.backend;

import io.ferrostate.jni.Native;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes what the library had to say into Flink's log, under {@code io.ferrostate.native}. The library
 * never calls Java: its records wait in a bounded queue until somebody comes by here.
 */
final class NativeLog {

    private static final Logger LOG = LoggerFactory.getLogger("io.ferrostate.native");

    private static final int BATCH = 256;

    private NativeLog() {}

    static void drain() {
        String[] records;
        do {
            records = Native.drainLog(BATCH);
            for (String record : records) {
                write(record);
            }
        } while (records.length == BATCH);
    }

    /** A record is {@code LEVEL\ttarget\ttext}. */
    private static void write(String record) {
        String[] parts = record.split("\t", 3);
        String level = parts[0];
        String text = parts.length == 3 ? parts[1] + ": " + parts[2] : record;
        switch (level) {
            case "ERROR":
                LOG.error(text);
                break;
            case "WARN":
                LOG.warn(text);
                break;
            case "INFO":
                LOG.info(text);
                break;
            default:
                LOG.debug(text);
        }
    }
}
