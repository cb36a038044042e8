package io.ferrostate.stress;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A JVM under the plain "C" locale, which writes '?' for letters of paths that are not ASCII: the library
 * must not write to other paths than Flink reads and deletes.
 */
@Timeout(60)
class PosixLocaleTest {

    @TempDir Path directory;

    @Test
    void checkpointsUnderSuchAPathCanBeReadAndDeleted() throws Exception {
        try (ChildJvm child =
                ChildJvm.start(
                        Collections.singletonMap("LC_ALL", "C"),
                        PosixLocaleProcess.class,
                        directory,
                        directory.toString())) {
            assertThat(child.line()).isEqualTo("refused localdir");
            assertThat(child.line()).isEqualTo("restored true");
            assertThat(Integer.parseInt(child.line())).isEqualTo(files().size()).isPositive();
            child.say("discard");
            assertThat(child.line()).isEqualTo("discarded");
            assertThat(files()).isEmpty();
            assertThat(child.exitCode()).isZero();
        }
    }

    /** Whatever their names are. */
    private List<Path> files() throws IOException {
        try (Stream<Path> found = Files.walk(directory.resolve("storage"))) {
            return found.filter(Files::isRegularFile).collect(Collectors.toList());
        }
    }
}
