package io.ferrostate.restore;

import org.apache.flink.core.memory.DataInputDeserializer;

import java.io.IOException;

/**
 * The bytes of a meta file, in which a damaged count asks for no more memory than the file could fill.
 * Knows where the snapshots of Flink's own serializers have their counts: behind a mark each.
 */
final class MetaFileInput extends DataInputDeserializer {

    private static final long serialVersionUID = 1L;

    /** Before the snapshots of nested serializers: then a version and a count follow. */
    private static final int NESTED_SERIALIZERS = 1333245;

    /** Before the fields of a POJO and the classes that Kryo knows: then a count follows. */
    private static final long OPTIONAL_MAP = 0x4f2c69a3d70L;

    /** After so many ints comes a count; 0: not. */
    private int intsToCount;

    MetaFileInput(byte[] file) {
        super(file);
    }

    @Override
    public int readInt() throws IOException {
        int value = super.readInt();
        if (intsToCount == 1) {
            check(value);
        }
        intsToCount = value == NESTED_SERIALIZERS ? 2 : Math.max(0, intsToCount - 1);
        return value;
    }

    @Override
    public long readLong() throws IOException {
        long value = super.readLong();
        intsToCount = value == OPTIONAL_MAP ? 1 : 0;
        return value;
    }

    /** A count of things that have a byte each at least. */
    int readCount() throws IOException {
        return check(super.readInt());
    }

    private int check(int count) throws IOException {
        if (count < 0 || count > available()) {
            throw new IOException(
                    "a count of " + count + " with " + available() + " bytes left to read");
        }
        return count;
    }
}
