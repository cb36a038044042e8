package io.ferrostate.examples;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What the demo reads: the whole year, in order; and how a split walks over it and resumes. */
@Timeout(60)
class FlightsFileTest {

    private static final String FLIGHTS = System.getProperty("ferrostate.flights");

    @Test
    void holdsTheYearInOrder() {
        Flight[] flights = FlightsFile.load(FLIGHTS);
        assertEquals(336_776, flights.length);
        for (int row = 1; row < flights.length; row++) {
            assertTrue(flights[row - 1].time <= flights[row].time, "row " + row);
            assertEquals(row, flights[row].row);
        }
        assertEquals(8_255, Arrays.stream(flights).filter(flight -> flight.cancelled).count());
    }

    @Test
    void aSplitResumesWhereItStood() throws IOException {
        FlightsSplit.Rows rows = new FlightsSplit(FLIGHTS, 1, 2, 10).getIterator();
        assertEquals(1, rows.next().row);
        assertEquals(3, rows.next().row);
        FlightsSplitSerializer serializer = new FlightsSplitSerializer();
        FlightsSplit split = new FlightsSplit(FLIGHTS, 1, 2, 10);
        byte[] bytes =
                serializer.serialize((FlightsSplit) split.getUpdatedSplitForIterator(rows));
        FlightsSplit resumed = serializer.deserialize(serializer.getVersion(), bytes);
        assertEquals(split.splitId(), resumed.splitId());
        List<Integer> rest = new ArrayList<>();
        resumed.getIterator().forEachRemaining(flight -> rest.add(flight.row));
        assertEquals(Arrays.asList(5, 7, 9), rest);
    }

    @Test
    void namesTheFileThatItCannotRead(@TempDir Path directory) throws IOException {
        Path broken = Files.writeString(directory.resolve("broken.zip"), "no zip");
        String message =
                assertThrows(
                                IllegalStateException.class,
                                () -> FlightsFile.load(broken.toString()))
                        .getMessage();
        assertTrue(message.contains(broken.toString()), message);
    }
}
