package io.ferrostate.jni;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Loads a library that is not a file: writes it to the first directory that can be written and
 * executed from, loads it and deletes it at once (Linux keeps what is mapped), so that no start
 * leaves a copy behind.
 *
 * <p>Each load has a path of its own, since the JVM refuses a path that another class loader has
 * loaded.
 */
final class UnpackedLibrary {

    private static final Set<PosixFilePermission> OWNER_ONLY =
            PosixFilePermissions.fromString("rwx------");

    private UnpackedLibrary() {}

    static void load(byte[] library) throws IOException {
        load(library, candidates(), UnpackedLibrary::map);
    }

    /** How a file becomes part of the process; a test puts something else in its place. */
    interface Loader {
        void load(Path file);
    }

    static void load(byte[] library, Iterable<Path> directories, Loader loader)
            throws IOException {
        String prefix = "libferrostate-" + contentHash(library) + "-";
        StringBuilder reasons = new StringBuilder();
        for (Path directory : directories) {
            String reason = tryLoad(library, directory, prefix, loader);
            if (reason == null) {
                return;
            }
            reasons.append("\n  ").append(directory).append(": ").append(reason);
        }
        throw new IOException("no directory to load the library from:" + reasons);
    }

    /** Null when loaded, else why not. */
    private static String tryLoad(byte[] library, Path directory, String prefix, Loader loader) {
        Path file = null;
        try {
            file =
                    Files.createTempFile(
                            directory,
                            prefix,
                            ".so",
                            PosixFilePermissions.asFileAttribute(OWNER_ONLY));
            Files.write(file, library);
            loader.load(file);
            return null;
        } catch (UnsatisfiedLinkError e) {
            return explain(e);
        } catch (IOException | UnsupportedOperationException e) {
            return "cannot write there (" + e + ")";
        } finally {
            delete(file);
        }
    }

    private static String explain(UnsatisfiedLinkError error) {
        String text = String.valueOf(error.getMessage());
        if (text.contains("failed to map segment") || text.contains("Operation not permitted")) {
            return "mounted noexec (" + text + ")";
        }
        if (text.contains("GLIBC_")) {
            return "the system's C library is too old, glibc 2.34 is needed (" + text + ")";
        }
        return text;
    }

    private static void map(Path file) {
        System.load(file.toAbsolutePath().toString());
    }

    private static void delete(Path file) {
        if (file != null) {
            try {
                Files.deleteIfExists(file);
            } catch (IOException e) {
                file.toFile().deleteOnExit();
            }
        }
    }

    private static Set<Path> candidates() {
        Set<Path> directories = new LinkedHashSet<>();
        for (String property : new String[] {"java.io.tmpdir", "user.dir", "user.home"}) {
            String directory = System.getProperty(property);
            if (directory != null && !directory.isEmpty()) {
                directories.add(Path.of(directory).toAbsolutePath());
            }
        }
        directories.add(Path.of("/var/tmp"));
        directories.add(Path.of("/dev/shm"));
        return directories;
    }

    private static String contentHash(byte[] library) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(library);
            return String.format("%064x", new BigInteger(1, digest)).substring(0, 16);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }
}
