package io.ferrostate.bench.door;

import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataInputViewStreamWrapper;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.openjdk.jmh.infra.Blackhole;

import java.io.ByteArrayInputStream;
import java.io.IOException;

/** Keys and values as jobs have them, with the serializers that Flink makes for their types. */
public enum Sample {
    LONG {
        @Override
        Pair<?, ?> pair() {
            return new Pair<>(
                    serializer(Long.class), 4711L, serializer(Long.class), 1_357_000_000_123L);
        }
    },
    STRING {
        @Override
        Pair<?, ?> pair() {
            return new Pair<>(
                    serializer(String.class), "N14228/UA/1545/x", serializer(String.class), text(48));
        }
    },
    TUPLE {
        @Override
        Pair<?, ?> pair() {
            return new Pair<>(
                    serializer(new TypeHint<Tuple2<String, Long>>() {}),
                    Tuple2.of("EWR-IAH", 1545L),
                    serializer(new TypeHint<Tuple3<Long, String, Double>>() {}),
                    Tuple3.of(1_357_000_000_123L, text(32), 227.5));
        }
    },
    POJO {
        @Override
        Pair<?, ?> pair() {
            return new Pair<>(
                    serializer(Route.class), new Route("EWR", "IAH", 1545),
                    serializer(Delays.class), new Delays(227, 2.5, 11.25, 1_357_000_000_123L, text(16)));
        }
    },
    STRING_1K {
        @Override
        Pair<?, ?> pair() {
            return new Pair<>(
                    serializer(String.class), "N14228/UA/1545/x", serializer(String.class), text(1024));
        }
    },
    BYTES_64K {
        @Override
        Pair<?, ?> pair() {
            return new Pair<>(
                    serializer(Long.class), 4711L, serializer(byte[].class), new byte[1 << 16]);
        }
    };

    /** Enough for the last compiler to have seen them. */
    private static final int USES_ELSEWHERE = 30_000;

    abstract Pair<?, ?> pair();

    private static <T> TypeSerializer<T> serializer(Class<T> type) {
        return TypeInformation.of(type).createSerializer(new SerializerConfigImpl());
    }

    private static <T> TypeSerializer<T> serializer(TypeHint<T> type) {
        return TypeInformation.of(type).createSerializer(new SerializerConfigImpl());
    }

    private static String text(int length) {
        StringBuilder text = new StringBuilder(length);
        for (int i = 0; i < length; i++) {
            text.append((char) ('a' + i % 26));
        }
        return text.toString();
    }

    /** One key and one value with their serializers. */
    static final class Pair<K, V> {

        final TypeSerializer<K> keySerializer;
        final K key;
        final TypeSerializer<V> valueSerializer;
        final V value;

        Pair(TypeSerializer<K> keySerializer, K key, TypeSerializer<V> valueSerializer, V value) {
            this.keySerializer = keySerializer;
            this.key = key;
            this.valueSerializer = valueSerializer;
            this.value = value;
        }

        byte[] keyBytes() throws IOException {
            DataOutputSerializer out = new DataOutputSerializer(64);
            keySerializer.serialize(key, out);
            return out.getCopyOfBuffer();
        }

        byte[] valueBytes() throws IOException {
            DataOutputSerializer out = new DataOutputSerializer(64);
            valueSerializer.serialize(value, out);
            return out.getCopyOfBuffer();
        }

        /** As the network does: records out of arrays and out of other views, until compiled so. */
        void useElsewhere(Blackhole blackhole) throws IOException {
            DataOutputSerializer out = new DataOutputSerializer(64);
            for (int i = 0; i < USES_ELSEWHERE; i++) {
                out.clear();
                keySerializer.serialize(key, out);
                valueSerializer.serialize(value, out);
                byte[] bytes = out.getSharedBuffer();
                int length = out.length();
                read(new DataInputDeserializer(bytes, 0, length), blackhole);
                read(new DataInputViewStreamWrapper(
                        new ByteArrayInputStream(bytes, 0, length)), blackhole);
            }
        }

        private void read(DataInputView in, Blackhole blackhole) throws IOException {
            blackhole.consume(keySerializer.deserialize(in));
            blackhole.consume(valueSerializer.deserialize(in));
        }
    }

    /** A POJO as a key. */
    public static class Route {
        public String origin;
        public String destination;
        public int flight;

        public Route() {}

        Route(String origin, String destination, int flight) {
            this.origin = origin;
            this.destination = destination;
            this.flight = flight;
        }
    }

    /** A POJO as a value. */
    public static class Delays {
        public int count;
        public double departure;
        public double arrival;
        public long latest;
        public String carrier;

        public Delays() {}

        Delays(int count, double departure, double arrival, long latest, String carrier) {
            this.count = count;
            this.departure = departure;
            this.arrival = arrival;
            this.latest = latest;
            this.carrier = carrier;
        }
    }
}
