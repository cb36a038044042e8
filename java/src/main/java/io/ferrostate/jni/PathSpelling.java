package io.ferrostate.jni;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/**
 * Whether a path means the same file to this JVM and to the library. The library spells paths in UTF-8,
 * the JVM in the encoding of the locale it was started under: in the plain "C" locale, which many
 * containers have, it writes '?' for each letter that is not ASCII.
 */
public final class PathSpelling {

    private PathSpelling() {}

    public static boolean isShared(String path) {
        return isShared(path, encoding());
    }

    static boolean isShared(String path, String encoding) {
        Charset ours =
                StandardCharsets.UTF_8.name().equals(encoding)
                        ? StandardCharsets.UTF_8
                        : StandardCharsets.US_ASCII;
        return ours.newEncoder().canEncode(path);
    }

    /** The encoding of this JVM's file names, for messages. */
    public static String encoding() {
        return System.getProperty("sun.jnu.encoding");
    }
}
