package io.ferrostate.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.metrics.MetricOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.FallbackKey;
import org.apache.flink.configuration.description.HtmlFormatter;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * docs/OPTIONS.md is what the options themselves say. When it is not, the right text is in the build
 * folder, to be copied.
 */
@Timeout(60)
class OptionsTableTest {

    private static final Path WRITTEN = Path.of("..", "docs", "OPTIONS.md");
    private static final Path GENERATED = Path.of("build", "OPTIONS.md");

    @Test
    void theTableSaysWhatTheOptionsSay() throws Exception {
        String table = table();
        Files.createDirectories(GENERATED.getParent());
        Files.writeString(GENERATED, table);
        assertThat(WRITTEN)
                .as("cp %s docs/OPTIONS.md", GENERATED.toAbsolutePath())
                .hasContent(table);
    }

    private static String table() throws Exception {
        StringBuilder text =
                new StringBuilder("# Options\n\n")
                        .append("Each falls back to the option of Flink's RocksDB backend with the")
                        .append(" same name under `state.backend.rocksdb.`.\n")
                        .append("In code: the constants of `io.ferrostate.FerrostateOptions`, or")
                        .append(" the setters of `FerrostateStateBackend`.\n\n")
                        .append("| `").append(FerrostateOptions.PREFIX).append("` | default | |\n")
                        .append("| --- | --- | --- |\n");
        for (ConfigOption<?> option : options()) {
            text.append(row(option));
        }
        text.append("\n## Metrics\n\n")
                .append("Names and meaning are those of Flink's RocksDB backend, but for")
                .append(" `ferrostate.buffer-*` (hits, misses, flushes, rows written, bytes, dirty")
                .append(" bytes), which need no option.\n\n")
                .append("| `").append(FerrostateOptions.PREFIX).append("` | default | |\n")
                .append("| --- | --- | --- |\n");
        for (ConfigOption<?> option : MetricOptions.all()) {
            text.append(row(option));
        }
        return text.toString();
    }

    private static List<ConfigOption<?>> options() throws Exception {
        List<ConfigOption<?>> options = new ArrayList<>();
        for (Field field : FerrostateOptions.class.getFields()) {
            if (Modifier.isStatic(field.getModifiers())
                    && field.getType() == ConfigOption.class) {
                options.add((ConfigOption<?>) field.get(null));
            }
        }
        return options;
    }

    private static String row(ConfigOption<?> option) {
        assertThat(option.key()).startsWith(FerrostateOptions.PREFIX);
        String name = option.key().substring(FerrostateOptions.PREFIX.length());
        StringBuilder text =
                new StringBuilder(new HtmlFormatter().format(option.description()));
        if (!option.fallbackKeys().iterator().hasNext()) {
            text.append(" Flink's backend has no such option.");
        }
        for (FallbackKey fallback : option.fallbackKeys()) {
            if (!fallback.getKey().equals(FerrostateOptions.ROCKSDB_PREFIX + name)) {
                text.append(" Falls back to `").append(fallback.getKey()).append("`.");
            }
        }
        String preset = option.hasDefaultValue() ? "`" + option.defaultValue() + "`" : "";
        return "| `" + name + "` | " + preset + " | " + text.toString().replace("|", "\\|") + " |\n";
    }
}
