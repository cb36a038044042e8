package io.ferrostate.stress;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.stress.usercode.UserFunction;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * Jobs that come and go in one TaskManager, each with its own code in class loaders of its own, each
 * restarted once from a checkpoint. With the jar in {@code lib/} there is one library and nothing
 * grows; with the jar in the job jar each class loader maps its own copy, and
 * nothing else grows than those.
 */
@Timeout(600)
@EnabledIfSystemProperty(named = "ferrostate.jar", matches = ".+")
class UserClassLoaderTest {

    private static final String FACTORY = "io.ferrostate.FerrostateStateBackendFactory";

    /** What a process holds after a job, in the order of {@link UserClassLoaderJobs}. */
    private static final int SEEN = 0, ALIVE = 1, JAVA_THREADS = 2, THREADS = 3;

    private static final int LIBRARIES = 4, FILES = 5, METASPACE = 6;

    /** KiB. One class loader with this user code is about 150. */
    private static final long TOLERATED_METASPACE = 1_500;

    /** Flink's pools grow and shrink by a few; one thread a job would be 40. */
    private static final long TOLERATED_THREADS = 10;

    /** Flink's own caches and pooled threads refer to the latest job's. */
    private static final long TOLERATED_LOADERS = 3;

    @TempDir Path directory;

    private Path userJar;

    @BeforeEach
    void packUserCode() throws IOException {
        userJar = directory.resolve("user-code.jar");
        Path classes =
                Path.of(
                        UserFunction.class
                                .getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .getPath());
        String folder = UserFunction.class.getPackage().getName().replace('.', '/');
        try (OutputStream file = Files.newOutputStream(userJar);
                JarOutputStream jar = new JarOutputStream(file);
                Stream<Path> content = Files.list(classes.resolve(folder))) {
            for (Path entry : content.collect(Collectors.toList())) {
                jar.putNextEntry(new JarEntry(classes.relativize(entry).toString()));
                Files.copy(entry, jar);
            }
        }
    }

    @Test
    void fiftyJobsWithFreshClassLoadersLoadOneLibraryAndLeaveNothing() throws Exception {
        int jobs = 50;
        int warm = 10;
        List<long[]> rounds =
                run(jobs, classPath(true), userJar.toString());
        long[] early = rounds.get(warm);
        long[] last = rounds.get(jobs - 1);
        assertThat(last[SEEN]).isGreaterThanOrEqualTo(jobs);
        assertThat(rounds).allMatch(round -> round[LIBRARIES] == 1, "one library");
        assertThat(rounds).allMatch(round -> round[FILES] == 0, "no files");
        assertThat(rounds)
                .allMatch(round -> round[ALIVE] <= TOLERATED_LOADERS, "class loaders are freed");
        assertThat(last[JAVA_THREADS] - early[JAVA_THREADS]).isLessThan(TOLERATED_THREADS);
        assertThat(last[THREADS] - early[THREADS]).isLessThan(TOLERATED_THREADS);
        assertThat(last[METASPACE] - early[METASPACE]).isLessThan(TOLERATED_METASPACE);
    }

    @Test
    void a41JobsThatBringTheWholeJarMapOneCopyPerClassLoader() throws Exception {
        int jobs = 8;
        int warm = 3;
        List<long[]> rounds =
                run(
                        jobs,
                        classPath(false),
                        userJar.toString(),
                        System.getProperty("ferrostate.jar"));
        long[] early = rounds.get(warm);
        long[] last = rounds.get(jobs - 1);
        assertThat(rounds)
                .allMatch(round -> round[LIBRARIES] == round[SEEN], "a copy per class loader");
        assertThat(rounds).allMatch(round -> round[FILES] == 0, "no files");
        assertThat(rounds)
                .allMatch(round -> round[ALIVE] <= TOLERATED_LOADERS, "class loaders are freed");
        assertThat(last[METASPACE] - early[METASPACE]).isLessThan(TOLERATED_METASPACE);
    }

    /** Ferrostate comes from its jar alone, and only when it is said to be in lib/. */
    private static String classPath(boolean inLib) {
        String jar = System.getProperty("ferrostate.jar");
        Stream<String> others =
                Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                        .filter(entry -> !new File(entry, "io/ferrostate/jni/Native.class").exists())
                        .filter(entry -> !new File(entry, "io/ferrostate/version.properties").exists())
                        .filter(entry -> !entry.equals(jar));
        return Stream.concat(inLib ? Stream.of(jar) : Stream.empty(), others)
                .collect(Collectors.joining(File.pathSeparator));
    }

    private List<long[]> run(int jobs, String classPath, String... jars)
            throws Exception {
        List<long[]> rounds = new ArrayList<>();
        List<String> arguments =
                new ArrayList<>(Arrays.asList(FACTORY, directory.toString(), Integer.toString(jobs)));
        arguments.addAll(Arrays.asList(jars));
        try (ChildJvm child =
                ChildJvm.startOn(
                        classPath,
                        UserClassLoaderJobs.class,
                        directory,
                        // Soft references, of which the JDK's own caches are full, count as none.
                        Arrays.asList("-Xmx256m", "-XX:SoftRefLRUPolicyMSPerMB=0"),
                        arguments)) {
            for (String line = child.line(); line != null; line = child.line()) {
                System.out.println("UserClassLoaderTest: " + line);
                rounds.add(Arrays.stream(line.split(" ")).mapToLong(Long::parseLong).toArray());
            }
            assertThat(child.exitCode()).isZero();
        }
        assertThat(rounds).hasSize(jobs);
        return rounds;
    }
}
