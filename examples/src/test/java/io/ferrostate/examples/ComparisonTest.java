package io.ferrostate.examples;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** That a missing, a changed and a doubled row are seen, and order and files are not. */
@Timeout(20)
class ComparisonTest {

    @TempDir private Path directory;

    private Path expected;
    private Path actual;

    @BeforeEach
    void directories() throws IOException {
        expected = Files.createDirectory(directory.resolve("expected"));
        actual = Files.createDirectory(directory.resolve("actual"));
        write(expected, "rows-1", "a", "b", "b", "c");
    }

    @Test
    void orderAndFilesDoNotMatter() throws IOException {
        write(actual, "rows-8", "b", "c");
        write(actual, "rows-9", "b", "a");
        Comparison comparison = Comparison.of(expected, actual);
        assertTrue(comparison.isIdentical());
        assertEquals(4, comparison.rows());
    }

    @Test
    void pendingRowsAreNoResult() throws IOException {
        write(actual, "rows-8", "a", "b", "b");
        write(actual, "pending-9", "c");
        assertDiffers("- c");
    }

    @Test
    void missingRow() throws IOException {
        write(actual, "rows-1", "b", "b", "c");
        assertDiffers("- a");
    }

    @Test
    void rowOnceTooOften() throws IOException {
        write(actual, "rows-1", "a", "b", "b", "b", "c");
        assertDiffers("+ b");
    }

    @Test
    void changedRow() throws IOException {
        write(actual, "rows-1", "a", "b", "b", "d");
        assertDiffers("- c", "+ d");
    }

    @Test
    void nothingIsNotIdenticalToNothing() throws IOException {
        assertFalse(Comparison.of(actual, actual).isIdentical());
    }

    private void assertDiffers(String... differences) throws IOException {
        Comparison comparison = Comparison.of(expected, actual);
        assertFalse(comparison.isIdentical());
        String lines = String.join(System.lineSeparator(), differences);
        assertEquals(
                "different: " + differences.length + " rows" + System.lineSeparator() + lines,
                comparison.report());
    }

    private static void write(Path directory, String file, String... rows) throws IOException {
        Files.write(directory.resolve(file), Arrays.asList(rows));
    }
}
