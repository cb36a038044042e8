package io.ferrostate.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * Random operations give the same answers on Ferrostate as on Flink's hashmap backend.
 *
 * <p>{@code -Dferrostate.model.operations=n} does so many in all (`make model`: a million), {@code
 * -Dferrostate.model.seed=s} repeats what a failure named.
 */
class ModelTest {

    private static final int OPERATIONS = Integer.getInteger("ferrostate.model.operations", 60_000);
    private static final int A_SEED = 10_000;

    @TempDir Path directory;

    private final Map<String, Long> figures = new TreeMap<>();

    @Test
    @Timeout(1800)
    void answersAreThoseOfTheHeap() throws Exception {
        NativeLibrary.load();
        long handles = Native.liveHandles();
        Long only = Long.getLong("ferrostate.model.seed");
        if (only != null) {
            run(only);
            return;
        }
        long first = System.nanoTime();
        for (int done = 0; done < OPERATIONS; done += A_SEED) {
            run(first + done / A_SEED);
        }
        System.out.println("model: " + figures);
        assertThat(Native.liveHandles()).isEqualTo(handles);
    }

    private void run(long seed) throws Exception {
        System.out.println("model: seed " + seed + ", " + A_SEED + " operations");
        try (Comparison comparison =
                new Comparison(seed, Files.createTempDirectory(directory, "seed"), figures)) {
            comparison.run(A_SEED);
        }
    }
}
