package io.ferrostate.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.stress.ChildJvm;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Values of 256 MiB, and a list of more than 2 GiB, each in a process of its own. */
@Timeout(600)
class LargeDataTest {

    @TempDir Path directory;

    private List<String> run(String what, String... heap) throws Exception {
        List<String> lines = new ArrayList<>();
        try (ChildJvm child =
                ChildJvm.startWith(
                        Arrays.asList(heap),
                        LargeData.class,
                        directory,
                        what,
                        directory.toString())) {
            for (String line = child.line(); line != null; line = child.line()) {
                lines.add(line);
            }
            assertThat(child.exitCode()).as("%s", lines).isZero();
        }
        System.out.println("LargeDataTest: " + lines);
        return lines;
    }

    @Test
    void valuesOf256MebibytesAreKeptAndRestored() throws Exception {
        assertThat(run("values", "-Xmx1400m", "-XX:+UseSerialGC"))
                .contains("value", "value of a map", "restored value", "element")
                .endsWith("done");
    }

    /** 8 GB of memory: {@code -Dferrostate.test.large=true}. TooLargeTest lowers the limit instead. */
    @Test
    @EnabledIfSystemProperty(named = "ferrostate.test.large", matches = "true")
    void aListOfMoreThan2GibibytesIsRefusedAndTheJvmLives() throws Exception {
        List<String> lines = run("list", "-Xmx2600m", "-XX:+UseSerialGC");
        assertThat(lines.get(1))
                .startsWith("TOO_LARGE")
                .contains("'my list'", "0000002a", String.valueOf(3L * (750 << 20)).substring(0, 4));
        assertThat(lines)
                .contains("another works: 10", "cleared: true", "works again: 10")
                .endsWith("done");
    }
}
