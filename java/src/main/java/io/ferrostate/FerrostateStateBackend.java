package io.ferrostate;

import io.ferrostate.FerrostateOptions.TimerService;
import io.ferrostate.backend.BackendResources;
import io.ferrostate.backend.FerrostateKeyedStateBackendBuilder;
import io.ferrostate.backend.InstanceDirectory;
import io.ferrostate.backend.LocalDirectories;
import io.ferrostate.backend.OptionSet;
import io.ferrostate.backend.SharedMemory;
import io.ferrostate.backend.TtlFilters;
import io.ferrostate.backend.UnusedOptions;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.configuration.StateChangelogOptions;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractManagedMemoryStateBackend;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.DefaultOperatorStateBackendBuilder;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.util.TernaryBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;

/**
 * Keeps keyed state in RocksDB through the Ferrostate library, and operator state as Flink does.
 *
 * <p>Configured by {@link FerrostateOptions}; what is set here in code wins over the configuration.
 * The JobManager makes objects of this class too, so that the library is loaded, and the disk looked
 * at, only when a task asks for its keyed state.
 */
public class FerrostateStateBackend extends AbstractManagedMemoryStateBackend
        implements ConfigurableStateBackend {

    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(FerrostateStateBackend.class);

    private final OptionSet options;
    private final TernaryBoolean incremental;

    /** Incremental or full checkpoints as {@code execution.checkpointing.incremental} says. */
    public FerrostateStateBackend() {
        this(TernaryBoolean.UNDEFINED, new OptionSet());
    }

    public FerrostateStateBackend(boolean incrementalCheckpoints) {
        this(TernaryBoolean.fromBoolean(incrementalCheckpoints), new OptionSet());
    }

    private FerrostateStateBackend(TernaryBoolean incremental, OptionSet options) {
        this.incremental = incremental;
        this.options = options;
    }

    /** Sets an option of {@link FerrostateOptions}, whatever the configuration says. */
    public <T> FerrostateStateBackend set(ConfigOption<T> option, T value) {
        options.set(option, value);
        return this;
    }

    /** The value of an option: as set in code, as configured, or its default. */
    public <T> T get(ConfigOption<T> option) {
        return options.get(option);
    }

    /** Local directories on the TaskManagers, absolute; the databases are spread over them. */
    public FerrostateStateBackend setLocalDirectories(String... directories) {
        return set(FerrostateOptions.LOCAL_DIRECTORIES, String.join(",", directories));
    }

    public boolean isIncremental() {
        return incremental.getOrDefault(
                CheckpointingOptions.INCREMENTAL_CHECKPOINTS.defaultValue());
    }

    @Override
    public FerrostateStateBackend configure(ReadableConfig config, ClassLoader classLoader) {
        FerrostateStateBackend configured =
                new FerrostateStateBackend(
                        incremental.resolveUndefined(
                                config.get(CheckpointingOptions.INCREMENTAL_CHECKPOINTS)),
                        options.orElse(config));
        configured.latencyTrackingConfigBuilder = latencyTrackingConfigBuilder.configure(config);
        configured.sizeTrackingConfigBuilder = sizeTrackingConfigBuilder.configure(config);
        UnusedOptions.tell(config, configured.options);
        if (config.get(StateChangelogOptions.ENABLE_STATE_CHANGE_LOG)) {
            configured.keepTimersInTheDatabase();
        }
        return configured;
    }

    /**
     * Flink's changelog materialises what a snapshot of this backend holds and, unlike a task, does not
     * ask whether timers of the heap are to be written beside it: a restore would lose them.
     */
    private void keepTimersInTheDatabase() {
        if (get(FerrostateOptions.TIMER_SERVICE_FACTORY) == TimerService.HEAP) {
            LOG.warn(
                    "'{}' is not followed: with {} the timers are kept in the database, since a"
                            + " materialisation leaves those of the heap out.",
                    FerrostateOptions.TIMER_SERVICE_FACTORY.key() + ": HEAP",
                    StateChangelogOptions.ENABLE_STATE_CHANGE_LOG.key());
            set(FerrostateOptions.TIMER_SERVICE_FACTORY, TimerService.NATIVE);
        }
    }

    /** A share of managed memory is needed unless it is switched off or replaced. */
    @Override
    public boolean useManagedMemory() {
        return true;
    }

    /** The first checkpoint after such a restore refers to none of the restored files. */
    @Override
    public boolean supportsNoClaimRestoreMode() {
        return true;
    }

    @Override
    public boolean supportsSavepointFormat(SavepointFormatType formatType) {
        return true;
    }

    @Override
    public <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
            KeyedStateBackendParameters<K> parameters) throws IOException {
        NativeLibrary.load();
        BackendResources resources = acquire(parameters);
        try {
            return new FerrostateKeyedStateBackendBuilder<>(
                            parameters,
                            latencyTrackingConfigBuilder
                                    .setMetricGroup(parameters.getMetricGroup())
                                    .build(),
                            sizeTrackingConfigBuilder
                                    .setMetricGroup(parameters.getMetricGroup())
                                    .build(),
                            getCompressionDecorator(parameters.getEnv().getExecutionConfig()),
                            options,
                            resources,
                            new TtlFilters(options),
                            isIncremental())
                    .build();
        } catch (IOException | RuntimeException e) {
            resources.close();
            throw e;
        }
    }

    private BackendResources acquire(KeyedStateBackendParameters<?> parameters)
            throws IOException {
        Environment env = parameters.getEnv();
        InstanceDirectory directory =
                LocalDirectories.claim(options, env, parameters.getOperatorIdentifier());
        try {
            return new BackendResources(
                    directory,
                    SharedMemory.acquire(options, env, parameters.getManagedMemoryFraction()));
        } catch (IOException | RuntimeException e) {
            directory.close();
            throw e;
        }
    }

    @Override
    public OperatorStateBackend createOperatorStateBackend(
            OperatorStateBackendParameters parameters) throws Exception {
        boolean asynchronousSnapshots = true;
        return new DefaultOperatorStateBackendBuilder(
                        parameters.getEnv().getUserCodeClassLoader().asClassLoader(),
                        parameters.getEnv().getExecutionConfig(),
                        asynchronousSnapshots,
                        parameters.getStateHandles(),
                        parameters.getCancelStreamRegistry())
                .build();
    }

    @Override
    public String toString() {
        return "FerrostateStateBackend{incremental=" + incremental + ", " + options + '}';
    }
}
