package io.ferrostate.backend;

import org.apache.flink.api.common.typeutils.CompositeTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.BigDecSerializer;
import org.apache.flink.api.common.typeutils.base.BigIntSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.api.common.typeutils.base.SetSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.common.typeutils.base.array.BooleanPrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.CharPrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.DoublePrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.FloatPrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.IntPrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.LongPrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.ShortPrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.StringArraySerializer;
import org.apache.flink.api.java.typeutils.runtime.NullableSerializer;
import org.apache.flink.api.java.typeutils.runtime.PojoSerializer;
import org.apache.flink.api.java.typeutils.runtime.TupleSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.ttl.TtlStateFactory;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;

/**
 * Describes to the library how long an element of a list is, so that it can find the next one without
 * calling a serializer. Only exactly these serializers of Flink's are known; a subclass may write what it
 * likes. The notation is that of {@code element_layout.h} in the library.
 */
final class TtlElementLayout {

    private static final int FIXED = 1;
    private static final int STRING = 2;
    private static final int ARRAY = 3;
    private static final int SEQUENCE = 4;
    private static final int LIST = 5;
    private static final int MAP = 6;
    private static final int NULLABLE = 7;
    private static final int POJO = 8;
    private static final int BIG_INTEGER = 9;

    private static final int DEEPEST = 12;
    private static final int MOST_PARTS = 1024;

    /** A count of elements, then so many bytes each. */
    private static final Map<String, Integer> ARRAYS = new HashMap<>();

    static {
        ARRAYS.put(BooleanPrimitiveArraySerializer.class.getName(), 1);
        ARRAYS.put(BytePrimitiveArraySerializer.class.getName(), 1);
        ARRAYS.put(CharPrimitiveArraySerializer.class.getName(), 2);
        ARRAYS.put(ShortPrimitiveArraySerializer.class.getName(), 2);
        ARRAYS.put(IntPrimitiveArraySerializer.class.getName(), 4);
        ARRAYS.put(FloatPrimitiveArraySerializer.class.getName(), 4);
        ARRAYS.put(LongPrimitiveArraySerializer.class.getName(), 8);
        ARRAYS.put(DoublePrimitiveArraySerializer.class.getName(), 8);
        // Rows of the Table API, whose module is not among ours: their length in bytes, the bytes.
        ARRAYS.put("org.apache.flink.table.runtime.typeutils.RowDataSerializer", 1);
        ARRAYS.put("org.apache.flink.table.runtime.typeutils.BinaryRowDataSerializer", 1);
    }

    private final DataOutputSerializer out = new DataOutputSerializer(32);

    private TtlElementLayout() {}

    /**
     * @param element the serializer of elements with their timestamps.
     * @return null if the library cannot know.
     */
    static byte[] of(TypeSerializer<?> element) {
        if (element.getClass() != TtlStateFactory.TtlSerializer.class) {
            return null;
        }
        try {
            TtlElementLayout layout = new TtlElementLayout();
            return layout.writeUserValue(element) ? layout.out.getCopyOfBuffer() : null;
        } catch (IOException | ReflectiveOperationException | RuntimeException e) {
            // A serializer may refuse to be restored from its snapshot; its lists stay whole.
            return null;
        }
    }

    private boolean writeUserValue(TypeSerializer<?> element)
            throws IOException, ReflectiveOperationException {
        int length = element.getLength() - Long.BYTES;
        if (length > 0) {
            return number(FIXED, length);
        }
        TypeSerializerSnapshot<?> snapshot = element.snapshotConfiguration();
        return write(
                ((TtlStateFactory.TtlSerializerSnapshot<?>) snapshot)
                        .getValueSerializerSnapshot()
                        .restoreSerializer(),
                0);
    }

    private boolean write(TypeSerializer<?> serializer, int depth)
            throws IOException, ReflectiveOperationException {
        if (serializer.getLength() > 0) {
            return number(FIXED, serializer.getLength());
        }
        if (depth > DEEPEST) {
            return false;
        }
        Class<?> type = serializer.getClass();
        if (type == StringSerializer.class) {
            return kind(STRING);
        }
        Integer unit = ARRAYS.get(type.getName());
        if (unit != null) {
            return number(ARRAY, unit);
        }
        if (type == BigIntSerializer.class) {
            return number(BIG_INTEGER, 0);
        }
        if (type == BigDecSerializer.class) {
            return number(BIG_INTEGER, Integer.BYTES);
        }
        return writeNested(serializer, depth + 1);
    }

    private boolean writeNested(TypeSerializer<?> serializer, int depth)
            throws IOException, ReflectiveOperationException {
        Class<?> type = serializer.getClass();
        if (type == StringArraySerializer.class) {
            return kind(LIST) && kind(STRING);
        }
        if (type == ListSerializer.class) {
            return kind(LIST) && write(((ListSerializer<?>) serializer).getElementSerializer(), depth);
        }
        if (type == SetSerializer.class) {
            return kind(LIST)
                    && number(NULLABLE, 0)
                    && write(((SetSerializer<?>) serializer).getElementSerializer(), depth + 1);
        }
        if (type == MapSerializer.class) {
            MapSerializer<?, ?> map = (MapSerializer<?, ?>) serializer;
            return kind(MAP)
                    && write(map.getKeySerializer(), depth)
                    && write(map.getValueSerializer(), depth);
        }
        if (type == NullableSerializer.class) {
            // Of no fixed length: so nothing stands for a null but its flag.
            return number(NULLABLE, 0) && write(onlyPart(serializer), depth);
        }
        if (type == TupleSerializer.class) {
            return parts(SEQUENCE, ((TupleSerializer<?>) serializer).getFieldSerializers(), depth);
        }
        return type == PojoSerializer.class && parts(POJO, fields(serializer), depth);
    }

    private static TypeSerializer<?> onlyPart(TypeSerializer<?> serializer) {
        return ((CompositeTypeSerializerSnapshot<?, ?>) serializer.snapshotConfiguration())
                .getNestedSerializerSnapshots()[0]
                .restoreSerializer();
    }

    /** Flink has no public way to the serializers of a POJO's fields. */
    private static TypeSerializer<?>[] fields(TypeSerializer<?> pojo)
            throws ReflectiveOperationException {
        Method fields = PojoSerializer.class.getDeclaredMethod("getFieldSerializers");
        fields.setAccessible(true);
        return (TypeSerializer<?>[]) fields.invoke(pojo);
    }

    private boolean parts(int kind, TypeSerializer<?>[] parts, int depth)
            throws IOException, ReflectiveOperationException {
        if (parts.length > MOST_PARTS) {
            return false;
        }
        number(kind, parts.length);
        for (TypeSerializer<?> part : parts) {
            if (!write(part, depth)) {
                return false;
            }
        }
        return true;
    }

    private boolean kind(int kind) throws IOException {
        out.writeByte(kind);
        return true;
    }

    private boolean number(int kind, int number) throws IOException {
        out.writeByte(kind);
        out.writeInt(number);
        return true;
    }
}
