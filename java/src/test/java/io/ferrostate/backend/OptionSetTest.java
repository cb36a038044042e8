package io.ferrostate.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.Compression;
import io.ferrostate.FerrostateOptions.PredefinedOptions;
import io.ferrostate.FerrostateOptions.TimerService;
import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.FerrostateStateBackendFactory;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.StateBackendLoader;
import org.apache.flink.testutils.logging.LoggerAuditingExtension;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.event.Level;

import java.io.File;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Where the values of options come from, which are refused, and what the library is told. */
@Timeout(60)
class OptionSetTest {

    @TempDir Path directory;

    @RegisterExtension
    final LoggerAuditingExtension log =
            new LoggerAuditingExtension(UnusedOptions.class, Level.WARN);

    private static FerrostateStateBackend configured(String... pairs) {
        return configured(new FerrostateStateBackend(), pairs);
    }

    private static FerrostateStateBackend configured(
            FerrostateStateBackend backend, String... pairs) {
        Configuration config = new Configuration();
        for (int i = 0; i < pairs.length; i += 2) {
            config.setString(pairs[i], pairs[i + 1]);
        }
        return backend.configure(config, OptionSetTest.class.getClassLoader());
    }

    @Test
    void rocksdbKeysAreHonoured() {
        FerrostateStateBackend backend =
                configured(
                        "state.backend.rocksdb.block.blocksize", "16kb",
                        "state.backend.rocksdb.compression.per.level",
                                "NO_COMPRESSION;LZ4_COMPRESSION",
                        "state.backend.rocksdb.memory.managed", "false");
        assertThat(backend.get(FerrostateOptions.BLOCK_SIZE)).isEqualTo(MemorySize.parse("16kb"));
        assertThat(backend.get(FerrostateOptions.COMPRESSION_PER_LEVEL))
                .containsExactly(Compression.NO_COMPRESSION, Compression.LZ4_COMPRESSION);
        assertThat(backend.get(FerrostateOptions.USE_MANAGED_MEMORY)).isFalse();
    }

    /** Each of Flink's values, and ours; those of the other key too. */
    @ParameterizedTest
    @CsvSource({
        "rocksdb, ROCKSDB, ROCKSDB", "rocksdb, rocksdb, ROCKSDB", "rocksdb, HEAP, HEAP",
        "ferrostate, heap, HEAP", "ferrostate, native, NATIVE", "ferrostate, ROCKSDB, ROCKSDB"
    })
    void timerServiceIsSaidInFlinksWordsOrOurs(String prefix, String value, TimerService expected) {
        FerrostateStateBackend backend =
                configured("state.backend." + prefix + ".timer-service.factory", value);
        assertThat(backend.get(FerrostateOptions.TIMER_SERVICE_FACTORY)).isEqualTo(expected);
    }

    @Test
    void timersAreInTheDatabaseUnlessTheOptionSaysHeap() throws Exception {
        NativeLibrary.load();
        assertThat(timersAreOnHeap(new FerrostateStateBackend())).isFalse();
        for (TimerService service : TimerService.values()) {
            assertThat(
                            timersAreOnHeap(
                                    new FerrostateStateBackend()
                                            .set(FerrostateOptions.TIMER_SERVICE_FACTORY, service)))
                    .as("%s", service)
                    .isEqualTo(service == TimerService.HEAP);
        }
        assertThat(new FerrostateStateBackend().get(FerrostateOptions.TIMER_SERVICE_CACHE_SIZE))
                .isEqualTo(128);
    }

    private boolean timersAreOnHeap(FerrostateStateBackend backend) throws Exception {
        try (KeyedBackends backends = new KeyedBackends()) {
            AbstractKeyedStateBackend<Long> keyed =
                    backends.create(
                            backend.setLocalDirectories(directory.toString()),
                            LongSerializer.INSTANCE,
                            4);
            boolean heap = !keyed.isSafeToReuseKVState();
            assertThat(keyed.requiresLegacySynchronousTimerSnapshots(CheckpointType.CHECKPOINT))
                    .isEqualTo(heap);
            assertThat(
                            keyed.requiresLegacySynchronousTimerSnapshots(
                                    SavepointType.savepoint(SavepointFormatType.NATIVE)))
                    .isEqualTo(heap);
            assertThat(
                            keyed.requiresLegacySynchronousTimerSnapshots(
                                    SavepointType.savepoint(SavepointFormatType.CANONICAL)))
                    .isFalse();
            keyed.dispose();
            return heap;
        }
    }

    @Test
    void ownKeyWinsOverRocksdbKeyAndCodeOverBoth() {
        String[] config = {
            "state.backend.rocksdb.thread.num", "3", "state.backend.ferrostate.thread.num", "5"
        };
        assertThat(configured(config).get(FerrostateOptions.MAX_BACKGROUND_THREADS)).isEqualTo(5);
        FerrostateStateBackend code =
                new FerrostateStateBackend().set(FerrostateOptions.MAX_BACKGROUND_THREADS, 7);
        assertThat(configured(code, config).get(FerrostateOptions.MAX_BACKGROUND_THREADS))
                .isEqualTo(7);
    }

    @Test
    void predefinedOptionsStandBetweenDefaultsAndWhatIsSet() {
        FerrostateStateBackend backend =
                configured(
                        "state.backend.rocksdb.predefined-options",
                        "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
                        "state.backend.rocksdb.block.blocksize",
                        "8kb");
        assertThat(backend.get(FerrostateOptions.PREDEFINED_OPTIONS))
                .isEqualTo(PredefinedOptions.SPINNING_DISK_OPTIMIZED_HIGH_MEM);
        assertThat(backend.get(FerrostateOptions.MAX_BACKGROUND_THREADS)).isEqualTo(4);
        assertThat(backend.get(FerrostateOptions.USE_BLOOM_FILTER)).isTrue();
        assertThat(backend.get(FerrostateOptions.BLOCK_SIZE)).isEqualTo(MemorySize.parse("8kb"));
        assertThat(backend.get(FerrostateOptions.BLOOM_FILTER_BITS_PER_KEY)).isEqualTo(10.0);
    }

    @Test
    void theLibraryIsToldPlainValues() {
        OptionSet options = new OptionSet();
        options.set(FerrostateOptions.WRITE_BUFFER_SIZE, MemorySize.parse("1mb"));
        options.set(FerrostateOptions.WARM_UP, false);
        options.set(
                FerrostateOptions.COMPRESSION_PER_LEVEL,
                Arrays.asList(Compression.NO_COMPRESSION, Compression.ZSTD_COMPRESSION));
        Map<String, String> told = new HashMap<>();
        String[] pairs = options.forDatabase();
        for (int i = 0; i < pairs.length; i += 2) {
            told.put(pairs[i], pairs[i + 1]);
        }
        assertThat(told)
                .hasSize(OptionSet.DATABASE_OPTIONS.size() + 1)
                .containsEntry("metrics.statistics", "false")
                .containsEntry("writebuffer.size", "1048576")
                .containsEntry("compression.per.level", "NO_COMPRESSION,ZSTD_COMPRESSION")
                .containsEntry("use-bloom-filter", "true")
                .containsEntry("restore.warm-up", "false")
                .containsEntry("files.open", "-1")
                .containsEntry("compaction.style", "LEVEL")
                .containsEntry("bloom-filter.bits-per-key", "10.0");
    }

    @ParameterizedTest
    @CsvSource({
        "thread.num, 0",
        "thread.num, many",
        "thread.num, 1000000",
        "block.blocksize, 4 gb",
        "files.open, -2",
        "writebuffer.size, 0",
        "writebuffer.size, 3 elephants",
        "writebuffer.count, -1",
        "block.blocksize, 0 kb",
        "memory.write-buffer-ratio, 1.0",
        "memory.fixed-per-slot, 0",
        "compaction.style, SIDEWAYS",
        "compression.per.level, GZIP",
        "use-bloom-filter, perhaps",
        "bloom-filter.bits-per-key, 0",
        "timer-service.factory, ABACUS",
        "timer-service.cache-size, 0",
        "predefined-options, FLOPPY_DISK_OPTIMIZED",
        "checkpoint.transfer.thread.num, 0",
        "localdir, relative/path",
        "localdir, 'hdfs://host/path'",
    })
    void wrongValuesNameTheOption(String option, String value) {
        for (String prefix : new String[] {FerrostateOptions.PREFIX, FerrostateOptions.ROCKSDB_PREFIX}) {
            assertThatThrownBy(() -> configured(prefix + option, value))
                    .isInstanceOf(IllegalConfigurationException.class)
                    .hasMessageContaining("'state.backend.ferrostate." + option + "'")
                    .hasMessageContaining("'state.backend.rocksdb." + option + "'");
        }
    }

    @Test
    void wrongValuesInCodeAreRefusedToo() {
        assertThatThrownBy(() -> new FerrostateStateBackend().setLocalDirectories("here"))
                .isInstanceOf(IllegalConfigurationException.class)
                .hasMessageContaining("'here'");
        assertThatThrownBy(
                        () ->
                                new FerrostateStateBackend()
                                        .set(FerrostateOptions.WRITE_BUFFER_RATIO, 2.0))
                .isInstanceOf(IllegalConfigurationException.class)
                .hasMessageContaining("2.0");
    }

    @Test
    void localDirectoriesAreSeparatedAsFlinkDoes() {
        assertThat(LocalDirectoryPaths.parse("/a:/b,/c"))
                .containsExactly(new File("/a"), new File("/b"), new File("/c"));
        assertThat(LocalDirectoryPaths.parse("file:///a,file:/b:/file:/c"))
                .containsExactly(
                        new File("/a"), new File("/b"), new File("/file"), new File("/c"));
        assertThatThrownBy(() -> LocalDirectoryPaths.parse(" , "))
                .hasMessageContaining("no directory");
    }

    @Test
    void optionsWithoutCounterpartAreToldOnceByName() {
        String key = "state.backend.rocksdb.log.max-file-size";
        configured(key, "true", "state.backend.rocksdb.thread.num", "3");
        configured(key, "true");
        assertThat(log.getMessages().stream().filter(m -> m.contains(key))).hasSize(1);
        assertThat(log.getMessages()).noneMatch(message -> message.contains("thread.num"));
    }

    @Test
    void incrementalComesFromConfigurationUnlessSetInCode() {
        String key = CheckpointingOptions.INCREMENTAL_CHECKPOINTS.key();
        assertThat(configured(key, "true").isIncremental()).isTrue();
        assertThat(configured(key, "false").isIncremental()).isFalse();
        assertThat(configured(new FerrostateStateBackend(true), key, "false").isIncremental())
                .isTrue();
    }

    @Test
    void flinkLoadsTheFactoryByItsName() throws Exception {
        Configuration config = new Configuration();
        config.set(
                StateBackendOptions.STATE_BACKEND, FerrostateStateBackendFactory.class.getName());
        config.set(FerrostateOptions.LOCAL_DIRECTORIES, "/does/not/exist");
        StateBackend loaded =
                StateBackendLoader.loadStateBackendFromConfig(
                        config, getClass().getClassLoader(), null);
        assertThat(loaded).isInstanceOf(FerrostateStateBackend.class);
        FerrostateStateBackend copy = InstantiationUtil.clone((FerrostateStateBackend) loaded);
        assertThat(copy.get(FerrostateOptions.LOCAL_DIRECTORIES)).isEqualTo("/does/not/exist");
    }
}
