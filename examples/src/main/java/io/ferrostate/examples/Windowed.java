package io.ferrostate.examples;

import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

import java.time.Instant;

/** Writes the content of a window, whatever it is, as a row with its kind, key and bounds. */
final class Windowed<T> implements WindowFunction<T, String, String, TimeWindow> {

    private static final long serialVersionUID = 1L;

    private final String kind;

    Windowed(String kind) {
        this.kind = kind;
    }

    @Override
    public void apply(String key, TimeWindow window, Iterable<T> content, Collector<String> rows) {
        for (T one : content) {
            rows.collect(
                    kind + ' ' + key + ' ' + Instant.ofEpochMilli(window.getStart()) + " to "
                            + Instant.ofEpochMilli(window.getEnd()) + ' ' + one);
        }
    }
}
