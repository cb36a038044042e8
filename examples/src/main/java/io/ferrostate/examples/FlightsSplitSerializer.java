package io.ferrostate.examples;

import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;

/** Bytes of splits in a checkpoint: of one (a reader's) and of many (the enumerator's). */
final class FlightsSplitSerializer implements SimpleVersionedSerializer<FlightsSplit> {

    private static final int VERSION = 1;

    @Override
    public int getVersion() {
        return VERSION;
    }

    @Override
    public byte[] serialize(FlightsSplit split) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(64);
        write(split, out);
        return out.getCopyOfBuffer();
    }

    @Override
    public FlightsSplit deserialize(int version, byte[] bytes) throws IOException {
        return read(new DataInputDeserializer(bytes));
    }

    private static void write(FlightsSplit split, DataOutputSerializer out) throws IOException {
        out.writeUTF(split.path);
        out.writeInt(split.next);
        out.writeInt(split.step);
        out.writeInt(split.end);
    }

    private static FlightsSplit read(DataInputDeserializer in) throws IOException {
        return new FlightsSplit(in.readUTF(), in.readInt(), in.readInt(), in.readInt());
    }

    /** Splits that no reader has asked for yet. */
    static final class OfMany implements SimpleVersionedSerializer<Collection<FlightsSplit>> {

        @Override
        public int getVersion() {
            return VERSION;
        }

        @Override
        public byte[] serialize(Collection<FlightsSplit> splits) throws IOException {
            DataOutputSerializer out = new DataOutputSerializer(128);
            out.writeInt(splits.size());
            for (FlightsSplit split : splits) {
                write(split, out);
            }
            return out.getCopyOfBuffer();
        }

        @Override
        public Collection<FlightsSplit> deserialize(int version, byte[] bytes) throws IOException {
            DataInputDeserializer in = new DataInputDeserializer(bytes);
            int count = in.readInt();
            Collection<FlightsSplit> splits = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                splits.add(read(in));
            }
            return splits;
        }
    }
}
