package io.ferrostate.flinktests;

import io.ferrostate.FerrostateStateBackend;
import java.io.IOException;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractManagedMemoryStateBackend;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;

/**
 * Ferrostate in another backend's place: counts what it makes in {@link Redirections}, and is Ferrostate
 * in everything else. With {@code -Dferrostate.flinktests.backend=rocksdb} it is Flink's RocksDB backend,
 * which says of a failing test whose fault it is.
 */
public final class RedirectedBackend extends AbstractManagedMemoryStateBackend
        implements ConfigurableStateBackend {

    private static final long serialVersionUID = 1L;

    private final AbstractManagedMemoryStateBackend backend;

    public RedirectedBackend() {
        this(
                "rocksdb".equals(System.getProperty("ferrostate.flinktests.backend"))
                        ? new EmbeddedRocksDBStateBackend()
                        : new FerrostateStateBackend());
    }

    private RedirectedBackend(AbstractManagedMemoryStateBackend backend) {
        this.backend = backend;
    }

    /** For operator harnesses, which take managed memory that a backend holds for a leak. */
    public static RedirectedBackend withoutManagedMemory() {
        Configuration configuration = new Configuration();
        configuration.setString("state.backend.rocksdb.memory.managed", "false"); // both know it
        return new RedirectedBackend()
                .configure(configuration, RedirectedBackend.class.getClassLoader());
    }

    @Override
    public RedirectedBackend configure(ReadableConfig config, ClassLoader classLoader) {
        return new RedirectedBackend(
                (AbstractManagedMemoryStateBackend)
                        ((ConfigurableStateBackend) backend).configure(config, classLoader));
    }

    @Override
    public <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
            KeyedStateBackendParameters<K> parameters) throws IOException {
        AbstractKeyedStateBackend<K> keyed =
                backend.createKeyedStateBackend(parameters);
        Redirections.made(parameters.getStateHandles());
        return keyed;
    }

    @Override
    public OperatorStateBackend createOperatorStateBackend(
            OperatorStateBackendParameters parameters) throws Exception {
        return backend.createOperatorStateBackend(parameters);
    }

    @Override
    public boolean useManagedMemory() {
        return backend.useManagedMemory();
    }

    @Override
    public boolean supportsNoClaimRestoreMode() {
        return backend.supportsNoClaimRestoreMode();
    }

    @Override
    public boolean supportsSavepointFormat(SavepointFormatType formatType) {
        return backend.supportsSavepointFormat(formatType);
    }
}
