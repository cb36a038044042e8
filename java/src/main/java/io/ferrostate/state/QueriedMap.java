package io.ferrostate.state;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.ColumnScan;
import io.ferrostate.backend.ScanPage;

import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.queryablestate.client.state.serialization.KvStateSerializer;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Reads a whole map for a query from outside, from any thread, with serializers of the caller's own. */
final class QueriedMap {

    private QueriedMap() {}

    /** The serialized map, or null when it has no entry. */
    static <UK, UV> byte[] read(Column column, byte[] prefix, MapSerializer<UK, UV> serializer)
            throws IOException {
        Map<UK, UV> map = new LinkedHashMap<>();
        DataInputDeserializer input = new DataInputDeserializer();
        for (ScanPage page : ColumnScan.pagesOf(column, prefix)) {
            while (page.next()) {
                input.setBuffer(
                        page.bytes(),
                        page.keyOffset() + prefix.length,
                        page.keyLength() - prefix.length);
                UK key = serializer.getKeySerializer().deserialize(input);
                input.setBuffer(page.bytes(), page.valueOffset(), page.valueLength());
                boolean isNull = input.readBoolean();
                map.put(key, isNull ? null : serializer.getValueSerializer().deserialize(input));
            }
        }
        if (map.isEmpty()) {
            return null;
        }
        return KvStateSerializer.serializeMap(
                map.entrySet(), serializer.getKeySerializer(), serializer.getValueSerializer());
    }
}
