package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * The jar as a user has it, loaded from class loaders that do not know of each other, as the jobs
 * of a session cluster are when each brings the jar.
 */
@EnabledIfSystemProperty(named = "ferrostate.jar", matches = ".+")
class JarLoadingTest {

    private static final int CLASS_LOADERS = 30;

    @Test
    void a41LoadsFromAnyNumberOfClassLoadersAndLeavesNoFile() throws Exception {
        String library = System.clearProperty(NativeLibrary.LIBRARY_PROPERTY);
        try {
            List<Path> before = unpackedFiles();
            for (int i = 0; i < CLASS_LOADERS; i++) {
                assertThat(loadInNewClassLoader()).contains("RocksDB");
            }
            assertThat(unpackedFiles()).isEqualTo(before);
        } finally {
            if (library != null) {
                System.setProperty(NativeLibrary.LIBRARY_PROPERTY, library);
            }
        }
    }

    private static String loadInNewClassLoader() throws Exception {
        URL jar = new File(System.getProperty("ferrostate.jar")).toURI().toURL();
        URL slf4j = org.slf4j.Logger.class.getProtectionDomain().getCodeSource().getLocation();
        try (URLClassLoader loader =
                new URLClassLoader(
                        new URL[] {jar, slf4j}, ClassLoader.getPlatformClassLoader())) {
            Class<?> type = loader.loadClass(NativeLibrary.class.getName());
            assertThat(type.getClassLoader()).isSameAs(loader);
            type.getMethod("load").invoke(null);
            type.getMethod("load").invoke(null);
            return (String) type.getMethod("description").invoke(null);
        }
    }

    private static List<Path> unpackedFiles() throws IOException {
        try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return files.filter(file -> file.getFileName().toString().startsWith("libferrostate"))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }
}
