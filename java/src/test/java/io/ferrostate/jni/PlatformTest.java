package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Other systems and old processors are refused by name, before anything is loaded. */
class PlatformTest {

    @Test
    void refusesOtherSystemsByName() {
        assertThat(Platform.unsupported("Linux", "amd64")).isNull();
        assertThat(Platform.unsupported("Linux", "aarch64")).contains("Linux on aarch64");
        assertThat(Platform.unsupported("Mac OS X", "x86_64")).contains("Mac OS X on x86_64");
    }

    @Test
    void refusesAProcessorWithoutHardwareChecksumsByFlag() {
        String enough = "flags\t\t: fpu ssse3 cx16 pclmulqdq sse4_1 sse4_2 popcnt avx";
        assertThat(Platform.missingFlags(List.of("processor : 0", enough))).isNull();
        assertThat(Platform.missingFlags(List.of(enough.replace(" sse4_2", ""))))
                .contains("lacks sse4_2");
        assertThat(Platform.missingFlags(List.of(enough.replace(" pclmulqdq", ""))))
                .contains("lacks pclmulqdq");
    }

    @Test
    void acceptsACpuinfoThatListsNoFlags() {
        assertThat(Platform.missingFlags(List.of("processor : 0"))).isNull();
    }
}
