package io.ferrostate.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.backend.KeyedBackends;

import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.ttl.StateBackendTestContext;
import org.apache.flink.runtime.state.ttl.TtlStateTestBase;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

/**
 * Flink's own tests of states with a time to live, and what its RocksDB backend's tests, which are not
 * published, ask of compactions. Which backend is the subclass's choice.
 */
@ExtendWith(NotYet.class)
abstract class TtlStateConformance extends TtlStateTestBase {

    @TempDir static Path directory;

    /** Called before the fields of this class are set. */
    abstract StateBackend backend(Path localDirectory);

    /** False for the lists whose elements only a serializer in Java can tell apart. */
    abstract boolean compactionsKnow(String context);

    @Override
    protected final StateBackendTestContext createStateBackendTestContext(
            TtlTimeProvider timeProvider) {
        return new StateBackendTestContext(timeProvider) {
            @Override
            protected StateBackend createStateBackend() {
                return backend(directory);
            }
        };
    }

    @TestTemplate
    void compactionDropsWhatHasExpired() throws Exception {
        StateDescriptor<?, ?> state = initTest(returnExpired().build());
        dropsWhatHasExpired(state, false);
    }

    @TestTemplate
    void compactionDropsWhatHasExpiredAlsoAfterARestore() throws Exception {
        StateDescriptor<?, ?> state = initTest(returnExpired().build());
        dropsWhatHasExpired(state, true);
    }

    @TestTemplate
    void compactionDropsNothingWithoutBackgroundCleanup() throws Exception {
        StateDescriptor<?, ?> state = initTest(returnExpired().disableCleanupInBackground().build());
        update(0, ctx().updateEmpty);
        compact(state, TTL + 1);
        assertThat(ctx().isOriginalEmptyValue()).isFalse();
    }

    private static StateTtlConfig.Builder returnExpired() {
        return getConfBuilder(TTL)
                .setStateVisibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp);
    }

    private void dropsWhatHasExpired(StateDescriptor<?, ?> state, boolean restored)
            throws Exception {
        boolean known = compactionsKnow(ctx().getClass().getSimpleName());
        update(0, ctx().updateEmpty);
        restore(restored);
        compact(state, TTL / 2);
        assertThat(ctx().get()).as("alive").isEqualTo(ctx().getUpdateEmpty);

        update(TTL / 2, ctx().updateUnexpired);
        restore(restored);
        compact(state, TTL + TTL / 2 - 1);
        if (known) {
            assertThat(ctx().get()).as("its last millisecond").isEqualTo(ctx().getUnexpired);
        }

        compact(state, TTL + TTL / 2);
        assertThat(ctx().isOriginalEmptyValue())
                .as("empty after its last millisecond")
                .isEqualTo(known);
    }

    private <UV> void update(long time, UV value) throws Exception {
        timeProvider.time = time;
        this.<org.apache.flink.runtime.state.internal.InternalKvState<?, String, ?>, UV>ctx()
                .update(value);
    }

    private void restore(boolean restored) throws Exception {
        if (restored) {
            takeAndRestoreSnapshot(StateBackendTestContext.NUMBER_OF_KEY_GROUPS);
        }
    }

    private void compact(StateDescriptor<?, ?> state, long time) throws Exception {
        timeProvider.time = time;
        AbstractKeyedStateBackend<String> backend = sbetc.getKeyedStateBackend();
        KeyedBackends.compact(backend, state);
        // What RocksDB merges out of a value and operands goes through the filter only the next time.
        KeyedBackends.compact(backend, state);
    }
}
