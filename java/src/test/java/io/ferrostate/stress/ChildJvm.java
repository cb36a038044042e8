package io.ferrostate.stress;

import io.ferrostate.jni.NativeLibrary;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Another JVM on this one's class path and library, read line by line, killed where asked. */
public final class ChildJvm implements AutoCloseable {

    private static final List<String> OPTIONS =
            Arrays.asList(
                    "-Xms128m",
                    "-Xmx128m",
                    "-XX:+AlwaysPreTouch",
                    "-XX:TieredStopAtLevel=1",
                    "--add-opens=java.base/java.util=ALL-UNNAMED",
                    "--add-opens=java.base/java.lang=ALL-UNNAMED");

    private final Process process;
    private final BufferedReader lines;

    private ChildJvm(Process process) {
        this.process = process;
        this.lines =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    static ChildJvm start(Class<?> main, Path temporary, String... arguments) throws IOException {
        return start(Collections.emptyMap(), main, temporary, arguments);
    }

    /** @param environment added to this process's own. */
    static ChildJvm start(
            Map<String, String> environment, Class<?> main, Path temporary, String... arguments)
            throws IOException {
        return start(
                environment, main, temporary, Collections.emptyList(), Arrays.asList(arguments));
    }

    /** With options of the JVM, for example for a larger heap. */
    public static ChildJvm startWith(
            List<String> options, Class<?> main, Path temporary, String... arguments)
            throws IOException {
        return start(
                Collections.emptyMap(), main, temporary, options, Arrays.asList(arguments));
    }

    private static ChildJvm start(
            Map<String, String> environment,
            Class<?> main,
            Path temporary,
            List<String> options,
            List<String> arguments)
            throws IOException {
        List<String> all = new ArrayList<>(options);
        String library = System.getProperty(NativeLibrary.LIBRARY_PROPERTY);
        if (library != null) {
            all.add("-D" + NativeLibrary.LIBRARY_PROPERTY + "=" + library);
        }
        return launch(
                environment,
                System.getProperty("java.class.path"),
                main,
                temporary,
                all,
                arguments);
    }

    /** On another class path, with the library that is found there. */
    static ChildJvm startOn(
            String classPath,
            Class<?> main,
            Path temporary,
            List<String> options,
            List<String> arguments)
            throws IOException {
        return launch(Collections.emptyMap(), classPath, main, temporary, options, arguments);
    }

    private static ChildJvm launch(
            Map<String, String> environment,
            String classPath,
            Class<?> main,
            Path temporary,
            List<String> options,
            List<String> arguments)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(OPTIONS);
        command.addAll(options);
        command.add("-Djava.io.tmpdir=" + temporary);
        command.addAll(Arrays.asList("-cp", classPath));
        command.add(main.getName());
        command.addAll(arguments);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().putAll(environment);
        return new ChildJvm(builder.start());
    }

    /** The next line, or null when the process has ended and all its lines were read. */
    public String line() throws IOException {
        return lines.readLine();
    }

    /** A line for the process to read. */
    void say(String line) throws IOException {
        process.getOutputStream().write((line + '\n').getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    /**
     * SIGKILL: no shutdown hook runs, nothing is flushed. Through the handle, which leaves the lines
     * that the process still said to be read.
     */
    public void kill() {
        process.toHandle().destroyForcibly();
    }

    public int exitCode() throws InterruptedException {
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException("The process has closed its output but does not end");
        }
        return process.exitValue();
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly();
        lines.close();
    }
}
