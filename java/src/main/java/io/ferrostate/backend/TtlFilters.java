package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.jni.Native;

import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * Sets, for each state that is registered, by which rule compactions drop its expired values. What they
 * do with a value is the library's business; states without a time to live have no rule.
 */
public final class TtlFilters {

    private static final Logger LOG = LoggerFactory.getLogger(TtlFilters.class);

    private static final long AS_OPENED = -1;

    private final long queryTimeAfterNumEntries;
    private final Duration periodicCompactionTime;

    /** Seconds between periodic compactions, of those column families that were told a number. */
    private final Map<Column, Long> periods = new IdentityHashMap<>();

    public TtlFilters(OptionSet options) {
        queryTimeAfterNumEntries =
                options.get(FerrostateOptions.COMPACT_FILTER_QUERY_TIME_AFTER_NUM_ENTRIES);
        periodicCompactionTime =
                options.get(FerrostateOptions.COMPACT_FILTER_PERIODIC_COMPACTION_TIME);
    }

    /**
     * Nothing is dropped from now on. To be called before values of another format are written:
     * compactions that run already only read files that were there when they began.
     */
    void disable(Column column) throws IOException {
        set(column, Native.TTL_DISABLED, 1, 0, null, periodicCompactionTime);
    }

    /** Sets the rule of a state, all of whose values are of the serializer's format now. */
    void register(Column column, StateDescriptor<?, ?> descriptor, TypeSerializer<?> serializer)
            throws IOException {
        StateTtlConfig config = descriptor.getTtlConfig();
        if (!config.isEnabled()
                || !config.getCleanupStrategies().inRocksdbCompactFilter()
                || !TtlAwareSerializer.isSerializerTtlEnabled(serializer)) {
            disable(column);
            return;
        }
        StateTtlConfig.RocksdbCompactFilterCleanupStrategy strategy =
                config.getCleanupStrategies().getRocksdbCompactFilterCleanupStrategy();
        set(
                column,
                kind(descriptor),
                config.getTimeToLive().toMillis(),
                strategy == null
                        ? queryTimeAfterNumEntries
                        : strategy.getQueryTimeAfterNumEntries(),
                elementLayout(descriptor, serializer),
                strategy == null ? periodicCompactionTime : strategy.getPeriodicCompactionTime());
    }

    private static int kind(StateDescriptor<?, ?> descriptor) {
        if (descriptor instanceof ListStateDescriptor) {
            return Native.TTL_LIST;
        }
        return descriptor instanceof MapStateDescriptor ? Native.TTL_MAP : Native.TTL_VALUE;
    }

    private static byte[] elementLayout(
            StateDescriptor<?, ?> descriptor, TypeSerializer<?> serializer) {
        if (!(descriptor instanceof ListStateDescriptor)) {
            return null;
        }
        TypeSerializer<?> elements = ((ListSerializer<?>) serializer).getElementSerializer();
        byte[] layout = TtlElementLayout.of(elements);
        if (layout == null) {
            LOG.warn(
                    "Compactions do not drop expired elements of list state '{}': where an element ends"
                            + " only its serializer knows ({}). They go when the list is read.",
                    descriptor.getName(),
                    elements.snapshotConfiguration().getClass().getName());
        }
        return layout;
    }

    private void set(
            Column column,
            int kind,
            long ttlMillis,
            long queryTimeAfter,
            byte[] elementLayout,
            Duration period)
            throws IOException {
        long wanted = period == null ? periodicCompactionTime.getSeconds() : period.getSeconds();
        long former = periods.getOrDefault(column, periodicCompactionTime.getSeconds());
        column.call(
                state -> {
                    Native.ttlConfigure(
                            state,
                            kind,
                            ttlMillis,
                            queryTimeAfter,
                            elementLayout,
                            wanted == former ? AS_OPENED : wanted);
                    return null;
                });
        periods.put(column, wanted);
    }
}
