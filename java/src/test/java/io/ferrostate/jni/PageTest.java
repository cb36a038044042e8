package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.util.Arrays;
import java.util.Random;

/** Size and end of a page. */
@Timeout(60)
class PageTest {

    private static final int LARGE = 3 << 20;

    @Test
    void growsAndKeepsWhatIsThere() throws IOException {
        try (Page page = BufferMemory.page(4)) {
            byte[] bytes = new byte[1000];
            new Random(1).nextBytes(bytes);
            for (int at = 0; at < bytes.length; at += 50) {
                page.write(at, bytes, at, 50);
            }
            byte[] read = new byte[1002];
            page.read(0, read, 1, 1000);
            assertThat(Arrays.copyOfRange(read, 1, 1001)).isEqualTo(bytes);
        }
    }

    @Test
    void shrinksAfterManySmallUses() throws IOException {
        try (Page page = BufferMemory.page(64)) {
            page.write(0, new byte[LARGE], 0, LARGE);
            assertThat(page.capacity()).isGreaterThanOrEqualTo(LARGE);
            for (int i = 0; i < 300; i++) {
                page.used(8);
                page.write(0, new byte[8], 0, 8);
            }
            assertThat(page.capacity()).isEqualTo(64);
        }
    }

    @Test
    void keepsItsSizeWhileLargeValuesKeepComing() throws IOException {
        try (Page page = BufferMemory.page(64)) {
            page.write(0, new byte[LARGE], 0, LARGE);
            int capacity = page.capacity();
            for (int i = 0; i < 1000; i++) {
                page.used(i % 100 == 0 ? LARGE : 8);
            }
            assertThat(page.capacity()).isEqualTo(capacity);
        }
    }

    @Test
    void everyUseAfterCloseThrows() throws IOException {
        BufferMemory memory = new BufferMemory();
        Page page = new Page(memory, 64);
        byte[] bytes = new byte[8];
        page.write(0, bytes, 0, 8);
        page.close();
        page.close();

        assertThat(memory.closed()).isEqualTo(1);
        assertThatThrownBy(page::address).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> page.write(0, bytes, 0, 8))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> page.read(0, bytes, 0, 8))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void nothingBeyondThePageIsRead() {
        try (Page page = BufferMemory.page(8)) {
            assertThatThrownBy(() -> page.read(4, new byte[8], 0, 8))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> page.write(0, new byte[4], 0, 8))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Test
    void moreThanAnArrayHoldsIsRefused() {
        try (Page page = BufferMemory.page(8)) {
            assertThatThrownBy(() -> page.ensureCapacity(Integer.MAX_VALUE))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("2GB");
            assertThat(page.capacity()).isEqualTo(8);
        }
    }

    @Test
    void whenMemoryCannotBeHadThePageIsUselessButCloses() {
        BufferMemory memory = new BufferMemory();
        Page page =
                new Page(
                        new Page.Memory() {
                            @Override
                            public java.nio.ByteBuffer resize(int capacity) {
                                if (capacity > 8) {
                                    throw new IllegalArgumentException("no memory");
                                }
                                return memory.resize(capacity);
                            }

                            @Override
                            public void close() {
                                memory.close();
                            }
                        },
                        8);
        assertThatThrownBy(() -> page.ensureCapacity(9)).hasMessageContaining("no memory");
        assertThatThrownBy(page::address).isInstanceOf(IllegalStateException.class);
        page.close();
        assertThat(memory.closed()).isEqualTo(1);
    }
}
