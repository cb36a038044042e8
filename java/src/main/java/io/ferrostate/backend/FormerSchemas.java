package io.ferrostate.backend;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;

import java.util.ArrayList;
import java.util.List;

/**
 * In which schema which values of a state were written, for those that have to be migrated. One schema
 * for all, but for parts of a rescale that had migrated on their own ({@link OtherSchema}).
 */
final class FormerSchemas<SV> {

    private final List<KeyGroupRange> keyGroups = new ArrayList<>();
    private final List<RegisteredKeyValueStateBackendMetaInfo<?, SV>> parts = new ArrayList<>();
    private final List<TtlAwareSerializer<SV, ?>> serializers = new ArrayList<>();

    private RegisteredKeyValueStateBackendMetaInfo<?, SV> rest;
    private TtlAwareSerializer<SV, ?> restSerializer;

    /** @param metaInfo with the new serializer and the former one. */
    void ofTheRest(RegisteredKeyValueStateBackendMetaInfo<?, SV> metaInfo) {
        rest = metaInfo;
        restSerializer = ttlAware(metaInfo.getPreviousStateSerializer());
    }

    /** @param part as above; null: these values stay as they are. */
    void of(KeyGroupRange range, RegisteredKeyValueStateBackendMetaInfo<?, SV> part) {
        keyGroups.add(range);
        parts.add(part);
        serializers.add(part == null ? null : ttlAware(part.getPreviousStateSerializer()));
    }

    /** Nothing is to be migrated. */
    boolean isEmpty() {
        return metaInfos().isEmpty();
    }

    List<RegisteredKeyValueStateBackendMetaInfo<?, SV>> metaInfos() {
        List<RegisteredKeyValueStateBackendMetaInfo<?, SV>> all = new ArrayList<>(parts);
        all.add(rest);
        all.removeIf(part -> part == null);
        return all;
    }

    /** What wrote the values of a key group; null: they stay as they are. */
    TtlAwareSerializer<SV, ?> serializer(int keyGroup) {
        for (int i = 0; i < keyGroups.size(); i++) {
            if (keyGroups.get(i).contains(keyGroup)) {
                return serializers.get(i);
            }
        }
        return restSerializer;
    }

    @SuppressWarnings("unchecked")
    static <SV> TtlAwareSerializer<SV, ?> ttlAware(TypeSerializer<SV> serializer) {
        return (TtlAwareSerializer<SV, ?>) TtlAwareSerializer.wrapTtlAwareSerializer(serializer);
    }
}
