package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;

import org.apache.flink.runtime.execution.Environment;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Chooses the root directory for a backend: one of those configured, at random so that they fill
 * evenly, else the TaskManager's temporary working directory.
 */
public final class LocalDirectories {

    private static final Logger LOG = LoggerFactory.getLogger(LocalDirectories.class);

    private LocalDirectories() {}

    /** Creates and claims a directory for one backend. */
    public static InstanceDirectory claim(
            OptionSet options, Environment env, String operatorIdentifier) throws IOException {
        String configured = options.get(FerrostateOptions.LOCAL_DIRECTORIES);
        File root =
                configured == null
                        ? env.getTaskManagerInfo().getTmpWorkingDirectory().getAbsoluteFile()
                        : choose(LocalDirectoryPaths.parse(configured));
        return InstanceDirectory.create(
                root, configured != null, env.getJobID().toString(), operatorIdentifier);
    }

    /** One unusable directory among several is passed over with a warning. */
    private static File choose(List<File> roots) throws IOException {
        List<File> usable = new ArrayList<>();
        IOException failure = null;
        for (File root : roots) {
            try {
                InstanceDirectory.requireUsable(root, true);
                usable.add(root);
            } catch (IOException e) {
                LOG.warn("{}", e.getMessage());
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (usable.isEmpty()) {
            throw failure;
        }
        return usable.get(ThreadLocalRandom.current().nextInt(usable.size()));
    }
}
