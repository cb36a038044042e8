package io.ferrostate.compatibility;

import java.util.SortedMap;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.InternalTimer;
import org.apache.flink.streaming.api.operators.InternalTimerService;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.Triggerable;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Does the {@link Workload} and keeps {@link Timer}s as it is told, and reports all of it. */
final class ScriptedOperator extends AbstractStreamOperator<Void>
        implements OneInputStreamOperator<Command, Void>, Triggerable<String, TimeWindow> {

    private static final long serialVersionUID = 1L;

    static final int OPERATIONS = 14;

    private final String name;
    private final int maxParallelism;
    private transient Script script;
    private transient Workload workload;
    private transient InternalTimerService<TimeWindow> timers;

    ScriptedOperator(String name, int maxParallelism) {
        this.name = name;
        this.maxParallelism = maxParallelism;
    }

    @Override
    public void open() throws Exception {
        super.open();
        script = Script.of(name);
        AbstractKeyedStateBackend<String> backend =
                (AbstractKeyedStateBackend<String>) this.<String>getKeyedStateBackend();
        workload = new Workload(backend, maxParallelism).withoutNullNumbers();
        timers = getInternalTimerService("windows", new TimeWindow.Serializer(), this);
    }

    @Override
    public void processElement(StreamRecord<Command> record) throws Exception {
        Command command = record.getValue();
        switch (command.kind) {
            case ROUND:
                round(command.key, command.number);
                break;
            case DUMP:
                script.dumped(command.number, dump());
                break;
            case DUMP_ALL:
                SortedMap<String, String> all = dump();
                workload.untouched().forEach((key, kept) -> all.put(key + " | untouched", kept));
                script.dumped(command.number, all);
                break;
            case FAIL:
                throw new IllegalStateException("induced failure");
            default:
                throw new IllegalArgumentException(command.kind.name());
        }
    }

    private void round(String key, long round) throws Exception {
        if (round == 1) {
            workload.writeUntouched(key);
        }
        workload.round(key, round, OPERATIONS);
        for (Timer timer : Timer.ofRound(key, round)) {
            if (timer.eventTime) {
                timers.registerEventTimeTimer(timer.window(), timer.timestamp);
            } else {
                timers.registerProcessingTimeTimer(timer.window(), timer.timestamp);
            }
        }
        for (Timer timer : Timer.deletedAfterRound(key, round - 1)) {
            if (timer.eventTime) {
                timers.deleteEventTimeTimer(timer.window(), timer.timestamp);
            } else {
                timers.deleteProcessingTimeTimer(timer.window(), timer.timestamp);
            }
        }
    }

    private SortedMap<String, String> dump() throws Exception {
        SortedMap<String, String> dump = workload.dump();
        timers.forEachEventTimeTimer((window, time) -> dump.put(text(true, time, window), ""));
        timers.forEachProcessingTimeTimer((window, time) -> dump.put(text(false, time, window), ""));
        return dump;
    }

    private String text(boolean eventTime, long timestamp, TimeWindow window) {
        return Timer.text((String) getCurrentKey(), eventTime, timestamp, window);
    }

    @Override
    public void onEventTime(InternalTimer<String, TimeWindow> timer) throws Exception {
        workload.fired(timer.getTimestamp());
    }

    @Override
    public void onProcessingTime(InternalTimer<String, TimeWindow> timer) {
        throw new IllegalStateException("a timer of the year 2096 fires: " + timer);
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) throws Exception {
        super.notifyCheckpointComplete(checkpointId);
        script.confirmed(checkpointId);
    }
}
