package io.ferrostate.compatibility;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * Snapshots of former versions as they lie in the repository: {@code golden/<writer>-<version>/} with
 * an archive of each, and what is in them as text.
 */
final class GoldenSnapshots {

    private static final String ARCHIVE = ".zip.gz";
    private static final String EXPECTED = "expected.txt.gz";

    private GoldenSnapshots() {}

    static void pack(Path snapshot, Path directory, String name) throws IOException {
        try (OutputStream out = gzip(directory.resolve(name + ARCHIVE));
                ZipOutputStream archive = new ZipOutputStream(out);
                Stream<Path> files = Files.list(snapshot)) {
            archive.setLevel(Deflater.NO_COMPRESSION); // gzip finds what the files have in common
            for (Path file : files.sorted().collect(Collectors.toList())) {
                archive.putNextEntry(new ZipEntry(file.getFileName().toString()));
                Files.copy(file, archive);
            }
        }
    }

    static Path unpack(Path directory, String name, Path into) throws IOException {
        Files.createDirectories(into);
        try (InputStream in = gunzip(directory.resolve(name + ARCHIVE));
                ZipInputStream archive = new ZipInputStream(in)) {
            ZipEntry entry;
            while ((entry = archive.getNextEntry()) != null) {
                Files.copy(archive, into.resolve(Path.of(entry.getName()).getFileName()));
            }
        }
        return into;
    }

    static void writeExpected(SortedMap<String, String> dump, Path directory) throws IOException {
        try (OutputStream out = gzip(directory.resolve(EXPECTED))) {
            for (var entry : dump.entrySet()) {
                String line = entry.getKey() + "\t" + entry.getValue() + "\n";
                out.write(line.getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    static SortedMap<String, String> expected(Path directory) throws IOException {
        SortedMap<String, String> dump = new TreeMap<>();
        try (InputStream in = gunzip(directory.resolve(EXPECTED))) {
            String all = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            for (String line : List.of(all.split("\n"))) {
                int tab = line.indexOf('\t');
                dump.put(line.substring(0, tab), line.substring(tab + 1));
            }
        }
        return dump;
    }

    private static OutputStream gzip(Path file) throws IOException {
        return new GZIPOutputStream(new BufferedOutputStream(Files.newOutputStream(file)));
    }

    private static InputStream gunzip(Path file) throws IOException {
        return new GZIPInputStream(new BufferedInputStream(Files.newInputStream(file)));
    }
}
