package io.ferrostate.examples;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.util.Collector;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Per airport: a list of the latest departures. One row, the board, for each hour with any. */
final class AirportBoard extends InEventTimeOrder {

    private static final long serialVersionUID = 1L;
    private static final Duration PERIOD = Duration.ofHours(1);
    private static final int LINES = 12;

    private transient ListState<String> latest;

    @Override
    public void open(OpenContext context) throws Exception {
        super.open(context);
        latest =
                getRuntimeContext()
                        .getListState(new ListStateDescriptor<>("latest", Types.STRING));
    }

    @Override
    void inOrder(Flight flight, Context context, Collector<String> rows) throws Exception {
        latest.add(
                flight.carrier + flight.number + ' ' + flight.destination
                        + (flight.cancelled ? " cancelled" : " +" + flight.departureDelay));
        remindAtEndOf(PERIOD, flight, context);
    }

    /** Appending is cheap and reading is not: the list is cut once an hour, not at each flight. */
    @Override
    void endOfPeriod(String airport, long time, Collector<String> rows) throws Exception {
        List<String> board = new ArrayList<>();
        latest.get().forEach(board::add);
        if (board.size() > LINES) {
            board = new ArrayList<>(board.subList(board.size() - LINES, board.size()));
            latest.update(board);
        }
        rows.collect("board " + airport + ' ' + Instant.ofEpochMilli(time) + ' ' + board);
    }
}
