package io.ferrostate.stress.usercode;

import io.ferrostate.job.FailOnce;
import io.ferrostate.stress.UserClassLoaders;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Keeps the user's own types in each kind of state and a timer for each key. Fails once per job, after
 * a checkpoint, so that the user's serializers are also read back from a snapshot.
 */
public final class UserFunction extends KeyedProcessFunction<Integer, Long, String>
        implements CheckpointListener {

    private static final long serialVersionUID = 1L;

    private transient ValueState<Reading> last;
    private transient ListState<Reading> all;
    private transient MapState<String, Opaque> opaque;
    private transient ReducingState<Reading> highest;

    @Override
    public void open(OpenContext context) {
        UserClassLoaders.add(getClass().getClassLoader());
        last = getRuntimeContext().getState(new ValueStateDescriptor<>("last", Reading.class));
        all = getRuntimeContext().getListState(new ListStateDescriptor<>("all", Reading.class));
        opaque =
                getRuntimeContext()
                        .getMapState(
                                new MapStateDescriptor<>("opaque", String.class, Opaque.class));
        highest =
                getRuntimeContext()
                        .getReducingState(
                                new ReducingStateDescriptor<>(
                                        "highest", new Highest(), Reading.class));
    }

    @Override
    public void processElement(Long number, Context context, Collector<String> out)
            throws Exception {
        Reading reading = new Reading("sensor " + context.getCurrentKey(), number, number);
        last.update(reading);
        all.add(reading);
        highest.add(reading);
        Opaque seen = opaque.get(reading.sensor);
        opaque.put(reading.sensor, (seen == null ? new Opaque() : seen).add("" + number));
        context.timerService().registerProcessingTimeTimer(Long.MAX_VALUE - number);
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        FailOnce.confirmed();
    }

    private static final class Highest implements ReduceFunction<Reading> {
        private static final long serialVersionUID = 1L;

        @Override
        public Reading reduce(Reading a, Reading b) {
            return a.value > b.value ? a : b;
        }
    }
}
