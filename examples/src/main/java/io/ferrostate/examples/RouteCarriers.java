package io.ferrostate.examples;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.util.Collector;

import java.time.Duration;
import java.time.Instant;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

/**
 * Per route: a map of the carriers that fly it. One row for each day with a flight; a carrier that
 * did not fly the route for a fortnight is taken out of the map.
 */
final class RouteCarriers extends InEventTimeOrder {

    private static final long serialVersionUID = 1L;
    private static final Duration PERIOD = Duration.ofDays(1);
    private static final Duration FORGOTTEN_AFTER = Duration.ofDays(14);

    private transient MapState<String, Service> carriers;

    @Override
    public void open(OpenContext context) throws Exception {
        super.open(context);
        carriers =
                getRuntimeContext()
                        .getMapState(
                                new MapStateDescriptor<>(
                                        "carriers", Types.STRING, Types.POJO(Service.class)));
    }

    @Override
    void inOrder(Flight flight, Context context, Collector<String> rows) throws Exception {
        Service service =
                carriers.contains(flight.carrier) ? carriers.get(flight.carrier) : new Service();
        service.flights++;
        service.minutesLate += flight.departureDelay;
        service.last = flight.time;
        carriers.put(flight.carrier, service);
        remindAtEndOf(PERIOD, flight, context);
    }

    @Override
    void endOfPeriod(String route, long time, Collector<String> rows) throws Exception {
        Map<String, Service> flying = new TreeMap<>();
        Iterator<Map.Entry<String, Service>> all = carriers.iterator();
        while (all.hasNext()) {
            Map.Entry<String, Service> entry = all.next();
            if (entry.getValue().last < time - FORGOTTEN_AFTER.toMillis()) {
                flying.put(entry.getKey() + " (gone)", entry.getValue());
                all.remove();
            } else {
                flying.put(entry.getKey(), entry.getValue());
            }
        }
        rows.collect("route " + route + ' ' + Instant.ofEpochMilli(time) + ' ' + flying);
    }

    /** What one carrier did on a route. */
    public static class Service {

        public int flights;
        public long minutesLate;
        public long last;

        @Override
        public String toString() {
            return flights + "/" + minutesLate;
        }
    }
}
