package io.ferrostate.examples;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Arrays;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The command line: what it defaults to, and that a wrong one is refused by name. */
@Timeout(20)
class DemoOptionsTest {

    @Test
    void runsOnFerrostateOverTheWholeYear() {
        DemoOptions options = DemoOptions.parse(Arrays.asList("--flights", "f.zip"));
        assertEquals(Backend.FERROSTATE, options.backend);
        assertEquals(Backend.FERROSTATE, options.resumeOn());
        assertEquals(336_776, options.rows);
    }

    @ParameterizedTest
    @CsvSource({
        "--rows, many, --rows takes a number from 2 to 336776",
        "--rows, 336777, --rows takes a number",
        "--backend, forst, no such backend: forst",
        "--colour, red, unknown option --colour",
    })
    void refuses(String name, String value, String reason) {
        assertRefused(reason, "--flights", "f.zip", name, value);
    }

    @Test
    void refusesAnOptionWithoutItsValue() {
        assertRefused("--keep is unknown or lacks its value", "--flights", "f.zip", "--keep");
    }

    @Test
    void needsTheFlights() {
        assertRefused("--flights is missing", "--rows", "10");
    }

    private static void assertRefused(String reason, String... arguments) {
        String message =
                assertThrows(
                                IllegalArgumentException.class,
                                () -> DemoOptions.parse(Arrays.asList(arguments)))
                        .getMessage();
        assertTrue(message.startsWith(reason), message);
    }
}
