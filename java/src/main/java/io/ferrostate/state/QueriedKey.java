package io.ferrostate.state;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.queryablestate.client.state.serialization.KvStateSerializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.SerializedCompositeKeyBuilder;

import java.io.IOException;

/** Turns the key of a query from outside into the key of the row. Used from any thread. */
final class QueriedKey {

    private static final int EXPECTED_SIZE = 32;

    private QueriedKey() {}

    static <K, N> byte[] toRow(
            byte[] serializedKeyAndNamespace,
            TypeSerializer<K> keySerializer,
            TypeSerializer<N> namespaceSerializer,
            int numberOfKeyGroups)
            throws IOException {
        Tuple2<K, N> query =
                KvStateSerializer.deserializeKeyAndNamespace(
                        serializedKeyAndNamespace, keySerializer, namespaceSerializer);
        SerializedCompositeKeyBuilder<K> builder =
                new SerializedCompositeKeyBuilder<>(
                        keySerializer,
                        CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix(
                                numberOfKeyGroups),
                        EXPECTED_SIZE);
        builder.setKeyAndKeyGroup(
                query.f0, KeyGroupRangeAssignment.assignToKeyGroup(query.f0, numberOfKeyGroups));
        return builder.buildCompositeKeyNamespace(query.f1, namespaceSerializer);
    }
}
