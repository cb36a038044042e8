package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.PathSpelling;

import org.apache.flink.util.FileUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The local directory of one backend: claimed for as long as it is in use, deleted on close. The first
 * use of a root in a process also deletes what dead processes left there.
 */
public final class InstanceDirectory implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(InstanceDirectory.class);

    private static final int OPERATOR_LENGTH = 120;

    /** Name that the library gives the lock of a claim. */
    private static final String LOCK = ".ferrostate-lock";

    private static final Set<File> SWEPT = ConcurrentHashMap.newKeySet();

    private final File directory;
    private long claim;

    private InstanceDirectory(File directory, long claim) {
        this.directory = directory;
        this.claim = claim;
    }

    /**
     * Creates and claims a new directory under a root.
     *
     * @param configured true if the root came from the option, for messages.
     */
    public static InstanceDirectory create(
            File root, boolean configured, String jobId, String operatorIdentifier)
            throws IOException {
        requireUsable(root, configured);
        sweepOnce(root);
        File directory =
                new File(
                        root,
                        "job_" + jobId
                                + "_op_" + fileName(operatorIdentifier)
                                + "_uuid_" + UUID.randomUUID());
        long claim;
        try {
            claim = Native.directoryClaim(directory.getAbsolutePath());
        } catch (IOException e) {
            throw unusable(root, configured, e.getMessage(), e);
        }
        return new InstanceDirectory(directory, claim);
    }

    /** The identifier as part of a file name, which may have 255 bytes altogether. */
    private static String fileName(String operatorIdentifier) {
        String safe = operatorIdentifier.replaceAll("[^a-zA-Z0-9\\-]", "_");
        return safe.substring(0, Math.min(safe.length(), OPERATOR_LENGTH));
    }

    /** Throws unless databases can be put into a root, which is created when absent. */
    static void requireUsable(File root, boolean configured) throws IOException {
        if (!PathSpelling.isShared(root.getPath())) {
            throw unusable(
                    root,
                    configured,
                    "it has letters that this JVM cannot spell (its file names are in "
                            + PathSpelling.encoding() + "; a UTF-8 locale would do)",
                    null);
        }
        if (root.exists() && !root.isDirectory()) {
            throw unusable(root, configured, "it is a file, not a directory", null);
        }
        if (!root.isDirectory() && !root.mkdirs() && !root.isDirectory()) {
            throw unusable(root, configured, "it does not exist and cannot be created", null);
        }
        if (!root.canWrite() || !root.canExecute()) {
            throw unusable(root, configured, "it is not writable for this process", null);
        }
    }

    private static IOException unusable(
            File root, boolean configured, String reason, IOException cause) {
        String origin =
                configured
                        ? "configured by " + OptionSet.names(FerrostateOptions.LOCAL_DIRECTORIES)
                        : "the TaskManager's temporary directory, since "
                                + OptionSet.names(FerrostateOptions.LOCAL_DIRECTORIES)
                                + " is not set";
        return new IOException(
                "The local directory '" + root + "' (" + origin + ") cannot be used: " + reason + '.',
                cause);
    }

    private static void sweepOnce(File root) {
        if (!SWEPT.add(root.getAbsoluteFile())) {
            return;
        }
        try {
            String[] deleted = Native.directorySweep(root.getAbsolutePath());
            if (deleted.length > 0) {
                LOG.info("Deleted what dead processes left: {}", Arrays.toString(deleted));
            }
        } catch (IOException e) {
            LOG.warn("Could not look for what dead processes left in {}.", root, e);
        }
    }

    public File directory() {
        return directory;
    }

    /** Where the database lies. */
    public File database() {
        return new File(directory, "db");
    }

    /** Deletes the directory, still claimed, and then gives it up. */
    @Override
    public void close() {
        if (claim == 0) {
            return;
        }
        try {
            deleteContent();
            FileUtils.deleteDirectory(directory);
        } catch (IOException e) {
            LOG.warn("Could not delete {}; the next process that starts here will.", directory, e);
        }
        long released = claim;
        claim = 0;
        Native.directoryRelease(released);
    }

    /** All but the lock, so that a sweep finds what is left should this process die now. */
    private void deleteContent() throws IOException {
        File[] content = directory.listFiles((parent, name) -> !name.startsWith(LOCK));
        if (content != null) {
            for (File file : content) {
                FileUtils.deleteFileOrDirectory(file);
            }
        }
    }
}
