package io.ferrostate.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;

import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.runtime.state.internal.InternalReducingState;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Merging namespaces where the model found that it matters what is in them. As on the heap. */
@Timeout(60)
class MergeNamespacesTest {

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private final MockTtlTimeProvider time = new MockTtlTimeProvider();

    @AfterEach
    void close() {
        backends.close();
    }

    private AbstractKeyedStateBackend<Integer> open(boolean heap) throws Exception {
        AbstractStateBackend backend =
                heap
                        ? new HashMapStateBackend()
                        : new FerrostateStateBackend().setLocalDirectories(directory.toString());
        return backends.create(backend, IntSerializer.INSTANCE, 16, time);
    }

    /** Reducing two expired values gives null, which Flink's RocksDB backend fails to serialize. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @SuppressWarnings("unchecked")
    void expiredValuesMergeToNothing(boolean heap) throws Exception {
        AbstractKeyedStateBackend<Integer> backend = open(heap);
        try {
            ReducingStateDescriptor<Integer> descriptor =
                    new ReducingStateDescriptor<>("sum", Integer::sum, IntSerializer.INSTANCE);
            descriptor.enableTimeToLive(
                    StateTtlConfig.newBuilder(Duration.ofMillis(100))
                            .disableCleanupInBackground()
                            .build());
            InternalReducingState<Integer, String, Integer> sum =
                    (InternalReducingState<Integer, String, Integer>)
                            backend.getOrCreateKeyedState(StringSerializer.INSTANCE, descriptor);
            backend.setCurrentKey(1);
            for (String namespace : List.of("a", "b", "target")) {
                sum.setCurrentNamespace(namespace);
                sum.add(1);
            }
            time.time = 200;
            sum.mergeNamespaces("target", List.of("a", "b"));
            for (String namespace : List.of("a", "b", "target")) {
                sum.setCurrentNamespace(namespace);
                assertThat(sum.get()).as(namespace).isNull();
            }
            sum.add(5);
            assertThat(sum.get()).isEqualTo(5);
        } finally {
            backend.dispose();
        }
    }
}
