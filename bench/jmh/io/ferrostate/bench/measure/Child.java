package io.ferrostate.bench.measure;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A JVM of its own for one measurement; its lines that begin with {@link #RESULT} are what it found. */
public final class Child {

    public static final String RESULT = "RESULT";

    /** Options to try on Ferrostate: {@code key=value,key=value}. */
    public static final String OPTIONS = "ferrostate.bench.options";

    private static final List<String> INHERITED = List.of("ferrostate.library", OPTIONS);

    private Child() {}

    /** Runs the main method of a class; throws, after showing what it said, if it fails. */
    public static List<String[]> run(
            List<String> jvm, Class<?> main, Path scratch, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + "/bin/java");
        command.addAll(jvm);
        for (String property : INHERITED) {
            command.add("-D" + property + '=' + System.getProperty(property, ""));
        }
        command.add("-Djava.io.tmpdir=" + scratch);
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(main.getName());
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        List<String[]> results = new ArrayList<>();
        List<String> said = new ArrayList<>();
        try (BufferedReader lines =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith(RESULT)) {
                    results.add(line.split(" "));
                } else {
                    said.add(line);
                }
            }
        }
        if (process.waitFor() != 0 || results.isEmpty()) {
            said.forEach(System.err::println);
            throw new IOException(
                    main.getSimpleName() + " failed with " + String.join(" ", arguments));
        }
        return results;
    }
}
