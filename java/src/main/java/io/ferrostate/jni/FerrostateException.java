package io.ferrostate.jni;

import java.io.IOException;

/** A failure in the library, with what to tell apart by program: its kind. Thrown from native code. */
public final class FerrostateException extends IOException {

    private static final long serialVersionUID = 1L;

    /** What went wrong, from the reader's side. */
    public enum Kind {
        /** Disk or store could not be read or written. */
        IO,
        /** A file or object that should be there is not, or is shorter than recorded. */
        MISSING,
        /** Bytes do not say what they should: checksum, format, truncated file. */
        CORRUPTED,
        /** No space left, or a quota. */
        FULL,
        /** A value or key is too large for the JVM or for RocksDB. */
        TOO_LARGE,
        /** The library itself is at fault; the database is closed for further use. */
        PANIC
    }

    private final Kind kind;

    /** Called by the library with the name of a {@link Kind}. */
    public FerrostateException(String kind, String message) {
        super(message);
        this.kind = Kind.valueOf(kind);
    }

    public Kind kind() {
        return kind;
    }
}
