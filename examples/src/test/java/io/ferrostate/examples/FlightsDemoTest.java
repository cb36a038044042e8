package io.ferrostate.examples;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The path of {@code make demo} on fewer flights: same phases, same comparison. */
@Timeout(240)
class FlightsDemoTest {

    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    @TempDir private Path work;

    @Test
    @DisplayName("killed twice, cancelled and resumed: every row is the hashmap backend's")
    void survives() throws Exception {
        assertTrue(demo("--backend", "ferrostate", "--failures", "2"), this::output);
        assertEquals(3, count("restored from checkpoint"), this::output);
    }

    @Test
    @DisplayName("Flink's RocksDB backend goes on from a checkpoint of Ferrostate")
    void rocksdbGoesOn() throws Exception {
        assertTrue(demo("--backend", "ferrostate", "--resume-on", "rocksdb"), this::output);
    }

    @Test
    @DisplayName("Ferrostate goes on from a checkpoint of Flink's RocksDB backend")
    void goesOnFromRocksdb() throws Exception {
        assertTrue(demo("--backend", "rocksdb", "--resume-on", "ferrostate"), this::output);
    }

    private boolean demo(String... arguments) throws Exception {
        List<String> all = new ArrayList<>(Arrays.asList(arguments));
        all.addAll(Arrays.asList("--flights", System.getProperty("ferrostate.flights")));
        all.addAll(Arrays.asList("--rows", "20000", "--speed", "6000", "--interval", "200"));
        all.addAll(Arrays.asList("--keep", work.toString()));
        PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
        boolean identical = FlightsDemo.run(DemoOptions.parse(all), new Console(out, false));
        assertEquals(identical ? 2 : 0, count("identical: "), this::output);
        return identical;
    }

    private int count(String text) {
        return output().split(text, -1).length - 1;
    }

    private String output() {
        return printed.toString(StandardCharsets.UTF_8);
    }
}
