package io.ferrostate;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/** A file system of some megabytes in memory; skips the test where mounting is not allowed. */
public final class SmallDisk implements AutoCloseable {

    private final Path path;

    private SmallDisk(Path path) {
        this.path = path;
    }

    public static SmallDisk mount(Path path, int megabytes) throws Exception {
        Files.createDirectories(path);
        assumeTrue(
                run("mount", "-t", "tmpfs", "-o", "size=" + megabytes + "m", "tmpfs", path.toString()),
                "mounting is not allowed here");
        return new SmallDisk(path);
    }

    public Path path() {
        return path;
    }

    /** Leaves no room for anything else. */
    public void fill(Path file) {
        byte[] noise = new byte[1 << 12];
        new Random(1).nextBytes(noise);
        try (OutputStream out = Files.newOutputStream(file)) {
            while (true) {
                out.write(noise);
            }
        } catch (IOException full) {
            // As intended.
        }
    }

    @Override
    public void close() throws Exception {
        run("umount", "-l", path.toString());
    }

    private static boolean run(String... command) throws Exception {
        try {
            return new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException noSuchCommand) {
            return false;
        }
    }
}
