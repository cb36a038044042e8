package io.ferrostate.examples;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.ZipInputStream;

/**
 * The flights of 2013, read from flights.csv.zip and ordered by scheduled departure (the file is
 * not). Kept once per process. Knows nothing of Flink.
 */
final class FlightsFile {

    private static final Map<Path, Flight[]> LOADED = new ConcurrentHashMap<>();

    private FlightsFile() {}

    static Flight[] load(String path) {
        return LOADED.computeIfAbsent(Path.of(path), FlightsFile::read);
    }

    private static Flight[] read(Path path) {
        try (ZipInputStream zip = new ZipInputStream(Files.newInputStream(path))) {
            if (zip.getNextEntry() == null) {
                throw new IOException("no entry in the zip");
            }
            return inOrder(
                    parse(new BufferedReader(new InputStreamReader(zip, StandardCharsets.UTF_8))));
        } catch (IOException | RuntimeException e) {
            throw new IllegalStateException("Cannot read the flights from " + path, e);
        }
    }

    private static List<Flight> parse(BufferedReader lines) throws IOException {
        Columns columns = new Columns(lines.readLine());
        List<Flight> flights = new ArrayList<>();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            flights.add(columns.flight(line));
        }
        return flights;
    }

    /** Stable, so that a row number means the same flight in every run. */
    private static Flight[] inOrder(List<Flight> flights) {
        flights.sort(Comparator.comparingLong(flight -> flight.time));
        for (int row = 0; row < flights.size(); row++) {
            flights.get(row).row = row;
        }
        return flights.toArray(new Flight[0]);
    }

    /** Finds values by the names in the header line. */
    private static final class Columns {

        private static final String ABSENT = "NA";

        private final Map<String, Integer> positions = new HashMap<>();
        private final Map<String, String> interned = new HashMap<>();

        Columns(String header) {
            String[] names = header.split(",", -1);
            for (int i = 0; i < names.length; i++) {
                positions.put(names[i], i);
            }
        }

        Flight flight(String line) {
            String[] values = line.split(",", -1);
            Flight flight = new Flight();
            String hour = value(values, "time_hour");
            flight.time =
                    Instant.parse(hour).toEpochMilli() + number(values, "minute") * 60_000L;
            flight.carrier = value(values, "carrier");
            flight.number = number(values, "flight");
            flight.aircraft = value(values, "tailnum");
            flight.origin = value(values, "origin");
            flight.destination = value(values, "dest");
            flight.distance = number(values, "distance");
            flight.cancelled = value(values, "dep_time").isEmpty();
            flight.departureDelay = flight.cancelled ? 0 : number(values, "dep_delay");
            return flight;
        }

        private String value(String[] values, String column) {
            String value = values[positions.get(column)];
            return value.equals(ABSENT) ? "" : interned.computeIfAbsent(value, same -> same);
        }

        private int number(String[] values, String column) {
            return Integer.parseInt(values[positions.get(column)]);
        }
    }
}
