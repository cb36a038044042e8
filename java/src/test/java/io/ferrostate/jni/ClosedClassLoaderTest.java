package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.stress.ChildJvm;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.List;

/**
 * A thread whose context class loader Flink has closed, such as that of a checkpoint which is cancelled
 * with its job: natives say what they have to say. In a process of its own, since what was once looked
 * up is known for ever.
 */
@Timeout(60)
class ClosedClassLoaderTest {

    @TempDir Path directory;

    @ParameterizedTest(name = "from the start={0}")
    @ValueSource(booleans = {false, true})
    void nativesThrowTheirExceptions(boolean fromTheStart) throws Exception {
        try (ChildJvm child =
                ChildJvm.startWith(
                        List.of("-XX:-CreateCoredumpOnCrash"),
                        ClosedClassLoaderProcess.class,
                        directory,
                        Boolean.toString(fromTheStart),
                        directory.toString())) {
            assertThat(child.line()).isEqualTo("IllegalStateException");
            assertThat(child.line()).isEqualTo("IllegalArgumentException");
            assertThat(child.line()).isEqualTo("FerrostateException");
            assertThat(child.line()).isEqualTo("[]");
            assertThat(child.line()).isEqualTo("end");
            assertThat(child.exitCode()).isZero();
        }
    }
}
