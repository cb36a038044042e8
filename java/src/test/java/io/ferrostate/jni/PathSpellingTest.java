package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Which paths the library may be given. */
class PathSpellingTest {

    @Test
    void asciiIsSpelledAlikeEverywhere() {
        for (String encoding : new String[] {"UTF-8", "ANSI_X3.4-1968", "ISO-8859-1", null}) {
            assertThat(PathSpelling.isShared("/tmp/a b%20#?", encoding)).isTrue();
        }
    }

    @Test
    void otherLettersOnlyInUtf8() {
        String path = "/tmp/\u00e4\u20ac\ud83d\ude00";
        assertThat(PathSpelling.isShared(path, "UTF-8")).isTrue();
        for (String encoding : new String[] {"ANSI_X3.4-1968", "ISO-8859-1", null}) {
            assertThat(PathSpelling.isShared(path, encoding)).isFalse();
        }
    }

    @Test
    void halfALetterNowhere() {
        assertThat(PathSpelling.isShared("/tmp/\ud83d", "UTF-8")).isFalse();
    }
}
