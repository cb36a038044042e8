package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where the library is written to while it is loaded; with a loader that loads nothing. */
class UnpackedLibraryTest {

    private static final byte[] LIBRARY = {1, 2, 3};

    @TempDir Path directory;

    @Test
    void leavesNothingBehind() throws IOException {
        List<Path> loaded = new ArrayList<>();
        UnpackedLibrary.load(
                LIBRARY,
                List.of(directory),
                file -> {
                    assertThat(file).hasBinaryContent(LIBRARY);
                    loaded.add(file);
                });
        assertThat(loaded).hasSize(1);
        assertThat(entries(directory)).isEmpty();
    }

    @Test
    void takesAnotherPathEachTime() throws IOException {
        List<Path> loaded = new ArrayList<>();
        UnpackedLibrary.load(LIBRARY, List.of(directory), loaded::add);
        UnpackedLibrary.load(LIBRARY, List.of(directory), loaded::add);
        assertThat(loaded.get(0)).isNotEqualTo(loaded.get(1));
    }

    @Test
    void goesOnFromNoexecAndMissingDirectories() throws IOException {
        Path noexec = Files.createDirectory(directory.resolve("noexec"));
        Path good = Files.createDirectory(directory.resolve("good"));
        List<Path> loaded = new ArrayList<>();
        UnpackedLibrary.load(
                LIBRARY,
                List.of(directory.resolve("missing"), noexec, good),
                file -> {
                    if (file.startsWith(noexec)) {
                        throw new UnsatisfiedLinkError(
                                file + ": failed to map segment from shared object");
                    }
                    loaded.add(file);
                });
        assertThat(loaded).allMatch(file -> file.startsWith(good)).hasSize(1);
        assertThat(entries(noexec)).isEmpty();
    }

    @Test
    void saysOfEachDirectoryWhyNot() {
        Path missing = directory.resolve("missing");
        assertThatThrownBy(
                        () ->
                                UnpackedLibrary.load(
                                        LIBRARY,
                                        List.of(missing, directory),
                                        file -> {
                                            throw new UnsatisfiedLinkError(
                                                    "failed to map segment from shared object");
                                        }))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(missing + ": cannot write there")
                .hasMessageContaining(directory + ": mounted noexec");
    }

    private static List<Path> entries(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.collect(Collectors.toList());
        }
    }
}
