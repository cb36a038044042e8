package io.ferrostate.jni;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Which machines the library runs on, asked before it is loaded: a missing processor feature would
 * otherwise end the JVM with an illegal instruction. Loads nothing.
 */
final class Platform {

    /** The library is compiled for x86-64-v2 and PCLMULQDQ (hardware CRC32c); names of cpuinfo. */
    private static final List<String> CPU_FLAGS =
            List.of("sse4_2", "pclmulqdq", "ssse3", "popcnt", "cx16");

    private static final Path CPUINFO = Path.of("/proc/cpuinfo");

    private Platform() {}

    static void requireSupported() throws IOException {
        String os = System.getProperty("os.name");
        String arch = System.getProperty("os.arch");
        String reason = unsupported(os, arch);
        if (reason == null && Files.isReadable(CPUINFO)) {
            reason = missingFlags(Files.readAllLines(CPUINFO));
        }
        if (reason != null) {
            throw new IOException(reason);
        }
    }

    /** Null when the library exists for this system. */
    static String unsupported(String os, String arch) {
        if ("Linux".equals(os) && ("amd64".equals(arch) || "x86_64".equals(arch))) {
            return null;
        }
        return "it is built for Linux on x86_64, this is " + os + " on " + arch;
    }

    /** Null when the first processor has what the library uses, or does not list its flags. */
    static String missingFlags(List<String> cpuinfo) {
        for (String line : cpuinfo) {
            if (line.startsWith("flags")) {
                Set<String> flags =
                        new HashSet<>(Arrays.asList(line.substring(line.indexOf(':') + 1).split("\\s+")));
                for (String flag : CPU_FLAGS) {
                    if (!flags.contains(flag)) {
                        return "this processor lacks " + flag + " (needed: " + CPU_FLAGS + ")";
                    }
                }
                return null;
            }
        }
        return null;
    }
}
