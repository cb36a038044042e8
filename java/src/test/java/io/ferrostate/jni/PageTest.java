package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;

/** Size and end of a page. */
@Timeout(60)
class PageTest {

    private static final int LARGE = 3 << 20;

    @Test
    void growsAndKeepsWhatIsThere() throws IOException {
        try (Page page = BufferMemory.page(4)) {
            PageOutput out = new PageOutput(page);
            for (int i = 0; i < 1000; i++) {
                out.writeInt(i);
            }
            PageInput in = new PageInput();
            in.set(page, 0, out.position());
            for (int i = 0; i < 1000; i++) {
                assertThat(in.readInt()).isEqualTo(i);
            }
        }
    }

    @Test
    void shrinksAfterManySmallUses() throws IOException {
        try (Page page = BufferMemory.page(64)) {
            PageOutput out = new PageOutput(page);
            out.write(new byte[LARGE]);
            assertThat(page.capacity()).isGreaterThanOrEqualTo(LARGE);
            for (int i = 0; i < 300; i++) {
                out.clear();
                out.writeLong(i);
            }
            assertThat(page.capacity()).isEqualTo(64);
        }
    }

    @Test
    void keepsItsSizeWhileLargeValuesKeepComing() throws IOException {
        try (Page page = BufferMemory.page(64)) {
            PageOutput out = new PageOutput(page);
            out.write(new byte[LARGE]);
            int capacity = page.capacity();
            for (int i = 0; i < 1000; i++) {
                out.clear();
                out.write(new byte[i % 100 == 0 ? LARGE : 8]);
            }
            assertThat(page.capacity()).isEqualTo(capacity);
        }
    }

    @Test
    void everyUseAfterCloseThrows() throws IOException {
        BufferMemory memory = new BufferMemory();
        Page page = new Page(memory, 64);
        PageOutput out = new PageOutput(page);
        out.writeLong(1);
        PageInput in = new PageInput();
        in.set(page, 0, 8);
        page.close();
        page.close();

        assertThat(memory.closed()).isEqualTo(1);
        assertThatThrownBy(page::address).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> out.writeLong(2)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(in::readLong).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(out::toByteArray).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aViewFromBeforeGrowthThrows() throws IOException {
        try (Page page = BufferMemory.page(8)) {
            PageInput in = new PageInput();
            in.set(page, 0, 8);
            page.ensureCapacity(1000);
            assertThatThrownBy(in::readLong).isInstanceOf(IllegalStateException.class);
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
