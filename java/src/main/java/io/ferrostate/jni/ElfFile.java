package io.ferrostate.jni;

import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;

/**
 * Whether a library file is whole. The system's loader maps a file that was cut off (a copy that was
 * interrupted) all the same, and the JVM dies when it reads beyond the end.
 */
final class ElfFile {

    private static final int MAGIC = 0x7f454c46;

    /** Places in the header of a 64-bit file: offset, entry size and number of section headers. */
    private static final int SECTION_OFFSET = 0x28;

    private static final int SECTION_SIZE = 0x3a;

    private ElfFile() {}

    /** Throws unless the section headers, which linkers put at the end, are there. */
    static void requireWhole(Path file) throws IOException {
        try (RandomAccessFile bytes = new RandomAccessFile(file.toFile(), "r")) {
            if (bytes.readInt() != MAGIC) {
                throw new IOException(file + " is not a library");
            }
            bytes.seek(SECTION_OFFSET);
            long offset = Long.reverseBytes(bytes.readLong());
            bytes.seek(SECTION_SIZE);
            long size = Short.toUnsignedInt(Short.reverseBytes(bytes.readShort()));
            long count = Short.toUnsignedInt(Short.reverseBytes(bytes.readShort()));
            long needed = offset + size * count;
            if (needed > bytes.length()) {
                throw new IOException(
                        file + " was cut off: it has " + bytes.length() + " of " + needed + " bytes");
            }
        } catch (EOFException tooShort) {
            throw new IOException(file + " was cut off: it ends within its header", tooShort);
        }
    }
}
