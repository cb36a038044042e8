package io.ferrostate.jni;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the native library on first use, once per class loader, and remembers why if it could not.
 * Where the bytes are put while they are loaded is {@link UnpackedLibrary}'s business, which
 * machines will do is {@link Platform}'s.
 */
public final class NativeLibrary {

    /** System property with the path of a library to load instead of the one in the jar. */
    public static final String LIBRARY_PROPERTY = "ferrostate.library";

    static final String RESOURCE = "/native/linux-x86_64/libferrostate.so";
    private static final String VERSION_RESOURCE = "/io/ferrostate/version.properties";
    private static final Logger LOG = LoggerFactory.getLogger(NativeLibrary.class);

    private static String description;
    private static Throwable failure;

    private NativeLibrary() {}

    /**
     * Makes the methods of {@link Native} callable. Cheap when it has been done; after a failure
     * each call fails with the reason of the first.
     */
    public static synchronized void load() throws IOException {
        if (description != null) {
            return;
        }
        if (failure == null) {
            try {
                description = loadOnce();
                LOG.info("Loaded the Ferrostate library: {}", description);
                return;
            } catch (IOException | RuntimeException | LinkageError e) {
                failure = e;
            }
        }
        throw new IOException(
                "the Ferrostate library is not available: " + failure.getMessage(), failure);
    }

    /** What is loaded: version, RocksDB version, link mode. Null before {@link #load()}. */
    public static synchronized String description() {
        return description;
    }

    /** Version of this jar. */
    public static String version() throws IOException {
        try (InputStream in = NativeLibrary.class.getResourceAsStream(VERSION_RESOURCE)) {
            if (in == null) {
                throw new IOException("this jar lacks " + VERSION_RESOURCE);
            }
            Properties properties = new Properties();
            properties.load(in);
            return properties.getProperty("version");
        }
    }

    private static String loadOnce() throws IOException {
        String version = version();
        Platform.requireSupported();
        String path = System.getProperty(LIBRARY_PROPERTY);
        if (path != null) {
            loadFile(Path.of(path).toAbsolutePath());
        } else {
            loadFromJar();
        }
        try {
            return Native.init(version);
        } catch (UnsatisfiedLinkError another) {
            throw new IOException(
                    "what was loaded is another library: it has no " + another.getMessage(), another);
        }
    }

    private static void loadFromJar() throws IOException {
        byte[] library;
        try (InputStream in = NativeLibrary.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IOException(
                        "this jar holds no " + RESOURCE + "; name a file with -D" + LIBRARY_PROPERTY);
            }
            library = in.readAllBytes();
        }
        UnpackedLibrary.load(library);
    }

    private static void loadFile(Path file) throws IOException {
        if (!Files.isRegularFile(file)) {
            throw new IOException("-D" + LIBRARY_PROPERTY + "=" + file + ": no such file");
        }
        ElfFile.requireWhole(file);
        try {
            System.load(file.toString());
        } catch (UnsatisfiedLinkError e) {
            // The JVM ties a path to one class loader; the second one takes a copy. There is no
            // other mark of this case than the text.
            if (!String.valueOf(e.getMessage()).contains("already loaded in another classloader")) {
                throw e;
            }
            UnpackedLibrary.load(Files.readAllBytes(file));
        }
    }
}
