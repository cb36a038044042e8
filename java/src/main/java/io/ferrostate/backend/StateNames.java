package io.ferrostate.backend;

import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.CharBuffer;

/**
 * Which names of states can be kept: those that Flink can write into a meta file and RocksDB into its
 * MANIFEST and both read back as they were. Others would fail a checkpoint, or its restore, later.
 */
final class StateNames {

    /** What {@link java.io.DataOutput#writeUTF} takes. */
    private static final int MAX_BYTES = 65535;

    private StateNames() {}

    static void check(String name) {
        if (name.isEmpty()) {
            throw wrong(name, "it is empty");
        }
        if (name.indexOf('\0') >= 0) {
            throw wrong(name, "it has a NUL in it");
        }
        try {
            int bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(name)).limit();
            if (bytes > MAX_BYTES) {
                throw wrong(name.substring(0, 40) + "...", "it has " + bytes + " bytes, " + MAX_BYTES
                        + " are allowed");
            }
        } catch (CharacterCodingException unpairedSurrogate) {
            throw wrong(name, "it is not well-formed Unicode (half a surrogate pair)");
        }
    }

    private static IllegalArgumentException wrong(String name, String reason) {
        return new IllegalArgumentException(
                "A state cannot be named '" + name.replace('\0', '?') + "': " + reason + '.');
    }
}
