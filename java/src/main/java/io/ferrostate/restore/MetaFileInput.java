package io.ferrostate.restore;

import org.apache.flink.core.memory.DataInputDeserializer;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The bytes of a meta file, whose counts ask for no more memory than the file could fill: Flink makes
 * arrays of any length that it reads. Its own serializers' snapshots have their counts behind marks,
 * at any depth, so they are checked before anything is read.
 */
final class MetaFileInput extends DataInputDeserializer {

    private static final long serialVersionUID = 1L;

    /** Before nested serializers' snapshots: then a version and a count follow. */
    private static final int NESTED_SERIALIZERS = 1333245;

    /** Before the fields of a POJO and the classes that Kryo knows; see {@link #checkMap}. */
    private static final long OPTIONAL_MAP = 0x4f2c69a3d70L;

    MetaFileInput(byte[] file) throws IOException {
        super(file);
        ByteBuffer bytes = ByteBuffer.wrap(file);
        for (int at = 0; at + Integer.BYTES <= file.length; at++) {
            if (bytes.getInt(at) == NESTED_SERIALIZERS) {
                bytes.position(Math.min(at + 2 * Integer.BYTES, file.length));
                checkedCount(bytes);
            } else if (at + Long.BYTES <= file.length && bytes.getLong(at) == OPTIONAL_MAP) {
                bytes.position(at + Long.BYTES);
                checkMap(bytes);
            }
        }
    }

    /** A count, then for each entry its name and twice a flag, a length and so many bytes. */
    private static void checkMap(ByteBuffer bytes) throws IOException {
        for (int left = checkedCount(bytes); left > 0; left--) {
            skip(bytes, bytes.remaining() < Short.BYTES ? Short.BYTES : bytes.getShort() & 0xffff);
            for (int part = 0; part < 2; part++) {
                skip(bytes, 1);
                if (bytes.get(bytes.position() - 1) != 0) {
                    skip(bytes, checkedCount(bytes));
                }
            }
        }
    }

    private static void skip(ByteBuffer bytes, int count) throws IOException {
        bytes.position(bytes.position() + check(count, bytes.remaining()));
    }

    private static int checkedCount(ByteBuffer bytes) throws IOException {
        check(Integer.BYTES, bytes.remaining());
        return check(bytes.getInt(), bytes.remaining());
    }

    /** A count of things that have a byte each at least. */
    int readCount() throws IOException {
        return check(readInt(), available());
    }

    private static int check(int count, int left) throws IOException {
        if (count < 0 || count > left) {
            throw new IOException("a count of " + count + " where only " + left + " bytes are left");
        }
        return count;
    }
}
