package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** A library that is not whole is told before the system's loader sees it. */
class ElfFileTest {

    @TempDir Path directory;

    @Test
    void aLibraryThatWasCutOff() throws IOException {
        Path library = Path.of(System.getProperty(NativeLibrary.LIBRARY_PROPERTY));
        ElfFile.requireWhole(library);
        byte[] whole = Files.readAllBytes(library);
        Path cut = directory.resolve("cut.so");
        for (int length : new int[] {0, 3, 63, 64, whole.length / 2, whole.length - 1}) {
            Files.write(cut, Arrays.copyOf(whole, length));
            assertThatThrownBy(() -> ElfFile.requireWhole(cut))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(cut + " was cut off");
        }
    }

    @Test
    void aFileOfAnotherKind() throws IOException {
        Path text = Files.write(directory.resolve("text.so"), "not a library".getBytes("UTF-8"));
        assertThatThrownBy(() -> ElfFile.requireWhole(text)).hasMessageContaining(text.toString());
    }
}
