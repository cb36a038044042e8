package io.ferrostate.tool;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A job's checkpoint directory, whose job may be running. */
final class JobDirectory {

    private JobDirectory() {}

    static List<Path> retained(Path home) throws IOException {
        if (!Files.isDirectory(home)) {
            return List.of();
        }
        try (Stream<Path> directories = Files.list(home)) {
            return directories
                    .filter(path -> Files.exists(path.resolve("_metadata")))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    /** But for {@code _metadata}. What is deleted meanwhile may be there or not. */
    static Set<String> files(Path home) throws IOException {
        Set<String> files = new TreeSet<>();
        Files.walkFileTree(
                home,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                        if (!file.endsWith("_metadata")) {
                            files.add(file.toString());
                        }
                        return FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFileFailed(Path file, IOException cause)
                            throws IOException {
                        return passed(cause);
                    }

                    @Override
                    public FileVisitResult postVisitDirectory(Path directory, IOException cause)
                            throws IOException {
                        return passed(cause);
                    }
                });
        return files;
    }

    private static FileVisitResult passed(IOException cause) throws IOException {
        if (cause != null && !(cause instanceof NoSuchFileException)) {
            throw cause;
        }
        return FileVisitResult.CONTINUE;
    }
}
