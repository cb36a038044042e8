package io.ferrostate.tool;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.state.StateObject;

/**
 * A program: what Flink's own handles say of the sizes in each {@code _metadata} below a directory, as
 * JSON. The tests of the command-line tool compare with it to the byte.
 */
public final class FlinkSizes {

    private FlinkSizes() {}

    /** Arguments: the directory, the file to write. */
    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[0]);
        Files.writeString(Path.of(arguments[1]), of(directory));
    }

    /** Every {@code _metadata} below. */
    static List<Path> below(Path directory) throws IOException {
        try (Stream<Path> paths = Files.walk(directory)) {
            return paths.filter(path -> path.endsWith("_metadata")).sorted().collect(Collectors.toList());
        }
    }

    static String of(Path directory) throws IOException {
        Map<String, String> all = new TreeMap<>();
        for (Path metadata : below(directory)) {
            all.put(directory.relativize(metadata).toString(), checkpoint(metadata));
        }
        return all.entrySet().stream()
                .map(entry -> "  \"" + entry.getKey() + "\": " + entry.getValue())
                .collect(Collectors.joining(",\n", "{\n", "\n}\n"));
    }

    /** A {@code _metadata}, read by Flink. */
    static CheckpointMetadata load(Path path) throws IOException {
        try (DataInputStream input = new DataInputStream(Files.newInputStream(path))) {
            return Checkpoints.loadCheckpointMetadata(
                    input, FlinkSizes.class.getClassLoader(), path.getParent().toUri().toString());
        }
    }

    private static String checkpoint(Path path) throws IOException {
        CheckpointMetadata metadata = load(path);
        return "{\"id\": "
                + metadata.getCheckpointId()
                + ", \"operators\": ["
                + metadata.getOperatorStates().stream()
                        .map(FlinkSizes::operator)
                        .collect(Collectors.joining(", "))
                + "]}";
    }

    private static String operator(OperatorState operator) {
        Map<Integer, OperatorSubtaskState> subtasks = new TreeMap<>(operator.getSubtaskStates());
        return "{\"id\": \""
                + operator.getOperatorID()
                + "\", "
                + sizes(operator, operator.getCheckpointedSize())
                + ", \"subtasks\": ["
                + subtasks.values().stream()
                        .map(state -> "{" + sizes(state, state.getCheckpointedSize()) + "}")
                        .collect(Collectors.joining(", "))
                + "]}";
    }

    private static String sizes(StateObject state, long checkpointed) {
        return "\"full\": " + state.getStateSize() + ", \"new\": " + checkpointed;
    }
}
