package io.ferrostate.timer;

import io.ferrostate.backend.RegisteredState;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.runtime.state.RegisteredPriorityQueueStateBackendMetaInfo;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.StateMigrationException;

/** Which serializers a queue that exists already may be asked for with. */
final class TimerColumns {

    private TimerColumns() {}

    @SuppressWarnings("unchecked")
    static <T> RegisteredPriorityQueueStateBackendMetaInfo<T> metaInfo(RegisteredState state) {
        if (!(state.metaInfo() instanceof RegisteredPriorityQueueStateBackendMetaInfo)) {
            throw new FlinkRuntimeException(
                    new StateMigrationException(
                            "State '" + state.metaInfo().getName()
                                    + "' was restored as "
                                    + state.metaInfo().getClass().getSimpleName()
                                    + " and cannot be registered as timer queue."));
        }
        return (RegisteredPriorityQueueStateBackendMetaInfo<T>) state.metaInfo();
    }

    /** Registers the serializer; throws if it can do nothing with the former timers. */
    static <T> TypeSerializerSchemaCompatibility<T> update(
            RegisteredPriorityQueueStateBackendMetaInfo<T> metaInfo, TypeSerializer<T> serializer) {
        // Not to be had any more once found incompatible.
        TypeSerializer<T> previous = metaInfo.getPreviousElementSerializer();
        TypeSerializerSchemaCompatibility<T> compatibility =
                metaInfo.updateElementSerializer(serializer);
        if (compatibility.isIncompatible()) {
            throw refused(metaInfo, serializer, previous, "must not be incompatible");
        }
        return compatibility;
    }

    static FlinkRuntimeException refused(
            RegisteredPriorityQueueStateBackendMetaInfo<?> metaInfo,
            TypeSerializer<?> serializer,
            TypeSerializer<?> previous,
            String rule) {
        return new FlinkRuntimeException(
                new StateMigrationException(
                        "The new priority queue serializer " + rule + ": that of '"
                                + metaInfo.getName() + "' is " + serializer + ", the old one was "
                                + previous + '.'));
    }
}
