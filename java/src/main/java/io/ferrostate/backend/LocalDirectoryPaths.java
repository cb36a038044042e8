package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;

import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.core.fs.Path;

import java.io.File;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Reads the option {@code localdir}: which paths it names, without looking at the disk. */
final class LocalDirectoryPaths {

    private static final Pattern SEPARATOR =
            Pattern.compile(",|(?<!^file)(?<![,:]file)" + File.pathSeparator + "(?!//)");

    private LocalDirectoryPaths() {}

    /** The directories in a list separated by ',' or the path separator; {@code file:} is allowed. */
    static List<File> parse(String value) {
        List<File> directories = new ArrayList<>();
        for (String path : split(value)) {
            File directory = new File(local(path));
            if (!directory.isAbsolute()) {
                throw wrong(path, "is relative: an absolute path is needed");
            }
            directories.add(directory);
        }
        if (directories.isEmpty()) {
            throw wrong(value, "names no directory");
        }
        return directories;
    }

    /** The colon of a URI ({@code file:/tmp}, {@code hdfs://host}) does not separate. */
    private static List<String> split(String value) {
        List<String> paths = new ArrayList<>();
        for (String part : SEPARATOR.split(value)) {
            if (!part.trim().isEmpty()) {
                paths.add(part.trim());
            }
        }
        return paths;
    }

    private static String local(String path) {
        URI uri;
        try {
            uri = new Path(path).toUri();
        } catch (RuntimeException e) {
            return path; // not a URI, so a plain path
        }
        if (uri.getScheme() == null) {
            return path;
        }
        if (!"file".equalsIgnoreCase(uri.getScheme())) {
            throw wrong(path, "is not on the local file system");
        }
        return uri.getPath();
    }

    private static IllegalConfigurationException wrong(String path, String reason) {
        return new IllegalConfigurationException(
                "The local directory '" + path + "' in "
                        + OptionSet.names(FerrostateOptions.LOCAL_DIRECTORIES) + ' ' + reason + '.');
    }
}
