package io.ferrostate.examples;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Compares two directories of results row by row, as multisets: in which file and at which place a
 * row stands says nothing, how often it stands there does.
 */
final class Comparison {

    private static final int SHOWN = 10;

    private final List<String> differences = new ArrayList<>();
    private final int rows;
    private int different;

    private Comparison(List<String> expected, List<String> actual) {
        rows = expected.size();
        int e = 0;
        int a = 0;
        while (e < expected.size() || a < actual.size()) {
            int order = order(expected, e, actual, a);
            if (order < 0) {
                differ("- " + expected.get(e));
            } else if (order > 0) {
                differ("+ " + actual.get(a));
            }
            e += order <= 0 ? 1 : 0;
            a += order >= 0 ? 1 : 0;
        }
    }

    static Comparison of(Path expected, Path actual) throws IOException {
        return new Comparison(sortedRows(expected), sortedRows(actual));
    }

    boolean isIdentical() {
        return different == 0 && rows > 0;
    }

    int rows() {
        return rows;
    }

    /** What differs and the first rows that do: "-" is missing, "+" is too much. */
    String report() {
        if (rows == 0) {
            return "nothing to compare with: the expected result has no rows";
        }
        StringBuilder report = new StringBuilder();
        report.append("different: ").append(different).append(" rows");
        differences.forEach(row -> report.append(System.lineSeparator()).append(row));
        return report.toString();
    }

    private void differ(String row) {
        different++;
        if (differences.size() < SHOWN) {
            differences.add(row);
        }
    }

    private static int order(List<String> expected, int e, List<String> actual, int a) {
        if (e == expected.size()) {
            return 1;
        }
        return a == actual.size() ? -1 : expected.get(e).compareTo(actual.get(a));
    }

    private static List<String> sortedRows(Path directory) throws IOException {
        List<String> rows = new ArrayList<>();
        try (DirectoryStream<Path> files =
                Files.newDirectoryStream(directory, ResultCommitter.COMMITTED + "*")) {
            for (Path file : files) {
                rows.addAll(Files.readAllLines(file));
            }
        }
        Collections.sort(rows);
        return rows;
    }
}
