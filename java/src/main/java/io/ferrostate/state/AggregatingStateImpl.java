package io.ferrostate.state;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.StateAccess;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.internal.InternalAggregatingState;

/** Aggregating state: the stored value is the accumulator. */
final class AggregatingStateImpl<K, N, IN, ACC, OUT> extends AppendingState<K, N, IN, ACC, OUT>
        implements InternalAggregatingState<K, N, IN, ACC, OUT> {

    private AggregateFunction<IN, ACC, OUT> function;

    AggregatingStateImpl(StateAccess<K> access) {
        super(access);
    }

    @Override
    @SuppressWarnings("unchecked")
    public void register(
            StateDescriptor<?, ACC> descriptor,
            RegisteredKeyValueStateBackendMetaInfo<N, ACC> metaInfo,
            Column newColumn) {
        super.register(descriptor, metaInfo, newColumn);
        function =
                ((AggregatingStateDescriptor<IN, ACC, OUT>) descriptor).getAggregateFunction();
    }

    @Override
    public OUT get() throws Exception {
        ACC accumulator = getInternal();
        return accumulator == null ? null : function.getResult(accumulator);
    }

    @Override
    public void add(IN value) throws Exception {
        ACC former = getInternal();
        ACC accumulator = former == null ? function.createAccumulator() : former;
        updateInternal(function.add(value, accumulator));
    }

    @Override
    ACC combine(ACC left, ACC right) {
        return function.merge(left, right);
    }
}
