package io.ferrostate.tool;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** Runs the command-line tool as it ships. */
final class Tool {

    private Tool() {}

    /** What it prints; it must end with that exit code. */
    static String run(int expected, String... arguments) throws Exception {
        Path tool = Path.of(System.getProperty("ferrostate.tool"));
        assertThat(tool).as("the tool (make tool builds it)").isExecutable();
        List<String> command = new ArrayList<>(List.of(tool.toString()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        int code = process.waitFor();
        assertThat(code).as("%s: %s", String.join(" ", arguments), said).isEqualTo(expected);
        return said;
    }

    static JsonNode json(String... arguments) throws Exception {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.add("--json");
        return new ObjectMapper().readTree(run(0, all.toArray(new String[0])));
    }

    /** The paths in such an array of what {@code files} or {@code orphans} print. */
    static Set<String> paths(JsonNode printed, String array) {
        Set<String> paths = new TreeSet<>();
        printed.get(array).forEach(entry -> paths.add(entry.get("path").asText()));
        return paths;
    }

    /** All files that a checkpoint, or a checkpoint of a job, refers to. */
    static Set<String> used(Path home) throws Exception {
        return paths(json("files", home.toString()), "files");
    }

    /** The lines of a journal that tell of deleted files; none, where there is no journal. */
    static Set<String> deleted(Path journal) throws Exception {
        Set<String> deleted = new TreeSet<>();
        if (Files.exists(journal)) {
            for (String line : Files.readAllLines(journal)) {
                JsonNode read = new ObjectMapper().readTree(line);
                if (read.get("step").asText().equals("deleted")) {
                    deleted.add(read.get("path").asText());
                }
            }
        }
        return deleted;
    }
}
