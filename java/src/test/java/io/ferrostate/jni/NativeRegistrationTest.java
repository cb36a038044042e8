package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Every native that Native.java declares has its entry in the library's table. One that the library
 * has and Java has not fails at load already; the other way round it would fail at its first call.
 */
@Timeout(60)
class NativeRegistrationTest {

    private static final Pattern COUNT = Pattern.compile("natives=(\\d+)");

    @Test
    void everyDeclaredNativeIsRegistered() throws Exception {
        NativeLibrary.load();
        Matcher registered = COUNT.matcher(NativeLibrary.description());
        assertThat(registered.find()).as(NativeLibrary.description()).isTrue();
        long declared =
                Arrays.stream(Native.class.getDeclaredMethods())
                        .filter(method -> Modifier.isNative(method.getModifiers()))
                        .filter(method -> !method.getName().equals("init"))
                        .count();
        assertThat(Long.parseLong(registered.group(1))).isEqualTo(declared);
    }
}
