package io.ferrostate.tool;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every snapshot that Flink's own tests come with (1.8 to 2.2, all backends and kinds): the
 * command-line tool finds it whole, and what it shows of its sizes is what Flink's handles say, to the
 * byte. With {@code -PwriteGolden} Gradle has it write the golden outputs anew.
 */
@Timeout(300)
class OldSnapshotsTest {

    private static final Path UNPACKED = Path.of(System.getProperty("ferrostate.flink.tests"));
    private static final Path GOLDEN = Path.of(System.getProperty("ferrostate.golden"));

    @ParameterizedTest
    @ValueSource(strings = {"1.16", "1.17", "1.18", "1.19", "1.20", "2.0", "2.1", "2.2"})
    void golden(String version) throws Exception {
        StringBuilder said = new StringBuilder();
        for (String kind : List.of("hashmap-savepoint", "rocksdb-checkpoint", "rocksdb-savepoint-native")) {
            String name = "new-stateful-udf-migration-itcase-flink" + version + "-" + kind;
            said.append(Tool.run(0, "show", UNPACKED.resolve(name).toString(), "--top", "0"));
        }
        Path golden = GOLDEN.resolve("show-flink-" + version + ".txt");
        String expected = said.toString().replace(UNPACKED.toString(), "FLINK-TESTS");
        if (Boolean.getBoolean("ferrostate.golden.write")) {
            Files.writeString(golden, expected);
        }
        assertThat(golden).hasContent(expected);
    }

    @Test
    void areWhole() throws Exception {
        for (Path snapshot : FlinkSizes.below(UNPACKED)) {
            Tool.run(0, "verify", "--deep", snapshot.getParent().toString());
        }
    }

    @Test
    void sizesAreFlinks() throws Exception {
        List<Path> snapshots = FlinkSizes.below(UNPACKED);
        assertThat(snapshots).hasSizeGreaterThan(170);
        for (Path snapshot : snapshots) {
            CheckpointMetadata metadata = FlinkSizes.load(snapshot);
            JsonNode shown = Tool.json("show", snapshot.getParent().toString());
            Map<String, JsonNode> byId = new HashMap<>();
            shown.get("operators").forEach(operator -> byId.put(operator.get("id").asText(), operator));
            long full = 0;
            long checkpointed = 0;
            for (OperatorState operator : metadata.getOperatorStates()) {
                full += operator.getStateSize();
                checkpointed += operator.getCheckpointedSize();
                JsonNode its = byId.remove(operator.getOperatorID().toString());
                assertThat(its).as("%s: %s", snapshot, operator).isNotNull();
                assertThat(sizes(its))
                        .as("%s: %s", snapshot, operator)
                        .containsExactly(operator.getStateSize(), operator.getCheckpointedSize());
                assertThat(subtasks(its)).as("%s: %s", snapshot, operator).isEqualTo(subtasks(operator));
            }
            assertThat(byId).as("%s", snapshot).isEmpty();
            assertThat(sizes(shown)).as("%s", snapshot).containsExactly(full, checkpointed);
        }
    }

    private static List<Long> sizes(JsonNode shown) {
        return List.of(shown.get("full").asLong(), shown.get("new").asLong());
    }

    /** Of those that have state. */
    private static Map<Integer, List<Long>> subtasks(JsonNode operator) {
        Map<Integer, List<Long>> sizes = new TreeMap<>();
        for (JsonNode subtask : operator.get("subtasks")) {
            sizes.put(subtask.get("index").asInt(), sizes(subtask));
        }
        sizes.values().removeIf(List.of(0L, 0L)::equals);
        return sizes;
    }

    private static Map<Integer, List<Long>> subtasks(OperatorState operator) {
        Map<Integer, List<Long>> sizes = new TreeMap<>();
        for (Map.Entry<Integer, OperatorSubtaskState> subtask : operator.getSubtaskStates().entrySet()) {
            OperatorSubtaskState state = subtask.getValue();
            sizes.put(subtask.getKey(), List.of(state.getStateSize(), state.getCheckpointedSize()));
        }
        sizes.values().removeIf(List.of(0L, 0L)::equals);
        return sizes;
    }
}
