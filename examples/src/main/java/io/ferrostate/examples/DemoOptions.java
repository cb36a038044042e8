package io.ferrostate.examples;

import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;

/** The command line, parsed once. Knows the names of options and their defaults, nothing else. */
final class DemoOptions {

    static final String USAGE =
            String.join(
                    System.lineSeparator(),
                    "usage: FlightsDemo --flights flights.csv.zip [options]",
                    "  --backend ferrostate|rocksdb|hashmap  backend under test (ferrostate)",
                    "  --resume-on BACKEND  the cancelled job goes on there (the same backend)",
                    "  --rows N       only the first N flights (336776)",
                    "  --speed N      flights a second under test, 0 is unpaced (12000)",
                    "  --failures N   induced failures in the first run (1)",
                    "  --interval MS  time between checkpoints (400)",
                    "  --keep DIR     work there and leave checkpoints and results behind");

    static final int ALL_ROWS = 336_776;

    Path flights;
    Backend backend = Backend.FERROSTATE;

    /** Null: the backend under test. */
    Backend resumeOn;

    int rows = ALL_ROWS;
    int perSecond = 12_000;
    int failures = 1;
    int intervalMillis = 400;

    /** Null: a temporary directory that is deleted at the end. */
    Path keep;

    static DemoOptions parse(List<String> arguments) {
        DemoOptions options = new DemoOptions();
        Iterator<String> rest = arguments.iterator();
        while (rest.hasNext()) {
            options.set(rest.next(), rest);
        }
        if (options.flights == null) {
            throw new IllegalArgumentException("--flights is missing");
        }
        return options;
    }

    Backend resumeOn() {
        return resumeOn == null ? backend : resumeOn;
    }

    private void set(String name, Iterator<String> rest) {
        if (!rest.hasNext()) {
            throw new IllegalArgumentException(name + " is unknown or lacks its value");
        }
        String value = rest.next();
        switch (name) {
            case "--flights":
                flights = Path.of(value).toAbsolutePath();
                break;
            case "--backend":
                backend = Backend.of(value);
                break;
            case "--resume-on":
                resumeOn = Backend.of(value);
                break;
            case "--rows":
                rows = number(name, value, 2, ALL_ROWS);
                break;
            case "--speed":
                perSecond = number(name, value, 0, Integer.MAX_VALUE);
                break;
            case "--failures":
                failures = number(name, value, 0, 100);
                break;
            case "--interval":
                intervalMillis = number(name, value, 10, 60_000);
                break;
            case "--keep":
                keep = Path.of(value).toAbsolutePath();
                break;
            default:
                throw new IllegalArgumentException("unknown option " + name);
        }
    }

    private static int number(String name, String value, int least, int most) {
        try {
            int number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Falls through to the message, which names the range too.
        }
        throw new IllegalArgumentException(
                name + " takes a number from " + least + " to " + most + ", not " + value);
    }
}
