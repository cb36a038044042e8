package io.ferrostate.examples;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;

import java.nio.file.Path;
import java.time.Duration;

/**
 * The topology: flights by event time into six keyed operators, whose rows go to one sink. Each
 * operator has a uid, so that a checkpoint finds its state again. Decides nothing about backend,
 * checkpoints or cluster: those come with the configuration.
 */
final class FlightsJob {

    /**
     * Flights are at full minutes. A gap that is not keeps a flight from touching the end of an
     * earlier session, where it would depend on the watermark's timing whether the two are one.
     */
    private static final Duration ROTATION_GAP = Duration.ofHours(6).minusMillis(1);

    private static final Duration BANK_GAP = Duration.ofMinutes(45).minusMillis(1);

    private final FlightsSource source;
    private final InducedFailure failure;
    private final Path results;

    FlightsJob(FlightsSource source, InducedFailure failure, Path results) {
        this.source = source;
        this.failure = failure;
        this.results = results;
    }

    JobGraph graph(Configuration configuration) {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        DataStream<Flight> flights = flights(env);
        DataStream<Flight> ofAircraft =
                flights.filter(flight -> !flight.aircraft.isEmpty()).uid("identified");
        aircraft(ofAircraft)
                .union(
                        routes(flights),
                        boards(flights),
                        hours(flights),
                        banks(flights),
                        rotations(ofAircraft))
                .sinkTo(new ResultSink(results))
                .name("results")
                .uid("results");
        return env.getStreamGraph().getJobGraph();
    }

    private DataStream<Flight> flights(StreamExecutionEnvironment env) {
        TypeInformation<Flight> type = Types.POJO(Flight.class);
        WatermarkStrategy<Flight> inOrder =
                WatermarkStrategy.<Flight>forMonotonousTimestamps()
                        .withTimestampAssigner((flight, unset) -> flight.time);
        return env.fromSource(source, inOrder, "flights", type)
                .uid("flights")
                .map(new RowCount())
                .returns(type)
                .uid("row-count")
                .map(failure)
                .returns(type)
                .uid("induced-failure");
    }

    private static DataStream<String> aircraft(DataStream<Flight> flights) {
        return inEventTimeOrder(flights, flight -> flight.aircraft, new AircraftLog(), "aircraft");
    }

    private static DataStream<String> routes(DataStream<Flight> flights) {
        return inEventTimeOrder(flights, Flight::route, new RouteCarriers(), "routes");
    }

    private static DataStream<String> boards(DataStream<Flight> flights) {
        return inEventTimeOrder(flights, flight -> flight.origin, new AirportBoard(), "boards");
    }

    private static DataStream<String> inEventTimeOrder(
            DataStream<Flight> flights,
            KeySelector<Flight, String> key,
            InEventTimeOrder function,
            String uid) {
        return flights.keyBy(key, Types.STRING)
                .process(function, Types.STRING)
                .name(uid)
                .uid(uid);
    }

    private static DataStream<String> hours(DataStream<Flight> flights) {
        return flights.keyBy(Flight::carrierAtOrigin, Types.STRING)
                .window(TumblingEventTimeWindows.of(Duration.ofHours(1)))
                .aggregate(
                        new Delays.Aggregate(),
                        new Windowed<>("hour"),
                        Types.POJO(Delays.class),
                        Types.STRING)
                .name("hours")
                .uid("hours");
    }

    private static DataStream<String> banks(DataStream<Flight> flights) {
        return flights.keyBy(Flight::carrierAtOrigin, Types.STRING)
                .window(EventTimeSessionWindows.withGap(BANK_GAP))
                .apply(new DepartureBank(), Types.STRING)
                .name("banks")
                .uid("banks");
    }

    private static DataStream<String> rotations(DataStream<Flight> flights) {
        return flights.map(Rotation::of)
                .returns(Types.POJO(Rotation.class))
                .uid("rotation-of-flight")
                .keyBy(Rotation::aircraft, Types.STRING)
                .window(EventTimeSessionWindows.withGap(ROTATION_GAP))
                .reduce(Rotation::join, new Windowed<>("rotation"), Types.STRING)
                .name("rotations")
                .uid("rotations");
    }
}
