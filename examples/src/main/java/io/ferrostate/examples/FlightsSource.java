package io.ferrostate.examples;

import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceEnumerator;
import org.apache.flink.core.io.SimpleVersionedSerializer;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * The first {@code rows} flights as a bounded, replayable source: one split a reader, dealt out row
 * by row so that all readers advance through the year together, at no more than {@code perSecond}
 * flights a second in total (0: as fast as it goes). At row {@code holdAt} the readers wait for a
 * checkpoint.
 */
final class FlightsSource implements Source<Flight, FlightsSplit, Collection<FlightsSplit>> {

    private static final long serialVersionUID = 1L;

    private final String path;
    private final int rows;
    private final int perSecond;
    private final int holdAt;

    FlightsSource(String path, int rows, int perSecond, int holdAt) {
        this.path = path;
        this.rows = rows;
        this.perSecond = perSecond;
        this.holdAt = holdAt;
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.BOUNDED;
    }

    @Override
    public SourceReader<Flight, FlightsSplit> createReader(SourceReaderContext context) {
        double share = (double) perSecond / context.currentParallelism();
        return new PacedReader(context, share, holdAt);
    }

    @Override
    public SplitEnumerator<FlightsSplit, Collection<FlightsSplit>> createEnumerator(
            SplitEnumeratorContext<FlightsSplit> context) {
        int readers = context.currentParallelism();
        List<FlightsSplit> splits = new ArrayList<>();
        for (int first = 0; first < readers; first++) {
            splits.add(new FlightsSplit(path, first, readers, rows));
        }
        return new IteratorSourceEnumerator<>(context, splits);
    }

    @Override
    public SplitEnumerator<FlightsSplit, Collection<FlightsSplit>> restoreEnumerator(
            SplitEnumeratorContext<FlightsSplit> context, Collection<FlightsSplit> unassigned) {
        return new IteratorSourceEnumerator<>(context, unassigned);
    }

    @Override
    public SimpleVersionedSerializer<FlightsSplit> getSplitSerializer() {
        return new FlightsSplitSerializer();
    }

    @Override
    public SimpleVersionedSerializer<Collection<FlightsSplit>> getEnumeratorCheckpointSerializer() {
        return new FlightsSplitSerializer.OfMany();
    }
}
