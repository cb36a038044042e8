package io.ferrostate.state;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.StateAccess;

import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.internal.InternalReducingState;

/** Reducing state: the stored value is the reduced one. */
final class ReducingStateImpl<K, N, V> extends AppendingState<K, N, V, V, V>
        implements InternalReducingState<K, N, V> {

    private ReduceFunction<V> reduceFunction;

    ReducingStateImpl(StateAccess<K> access) {
        super(access);
    }

    @Override
    @SuppressWarnings("unchecked")
    public void register(
            StateDescriptor<?, V> descriptor,
            RegisteredKeyValueStateBackendMetaInfo<N, V> metaInfo,
            Column newColumn) {
        super.register(descriptor, metaInfo, newColumn);
        reduceFunction = ((ReducingStateDescriptor<V>) descriptor).getReduceFunction();
    }

    @Override
    public V get() throws Exception {
        return getInternal();
    }

    @Override
    public void add(V value) throws Exception {
        V former = getInternal();
        updateInternal(former == null ? value : reduceFunction.reduce(former, value));
    }

    @Override
    V combine(V left, V right) throws Exception {
        return reduceFunction.reduce(left, right);
    }
}
