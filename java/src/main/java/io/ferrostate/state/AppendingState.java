package io.ferrostate.state;

import io.ferrostate.backend.StateAccess;

import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.runtime.state.internal.InternalMergingState;

import java.io.IOException;
import java.util.Collection;

/**
 * Reducing and aggregating state: one stored value, replaced by its combination with what is added.
 * The combining runs in Java; RocksDB's merge operator is for lists only.
 */
abstract class AppendingState<K, N, IN, SV, OUT> extends AbstractState<K, N, SV>
        implements InternalMergingState<K, N, IN, SV, OUT> {

    AppendingState(StateAccess<K> access) {
        super(access);
    }

    /** Combines two stored values; either may be changed and returned. Null: nothing is left of them. */
    abstract SV combine(SV left, SV right) throws Exception;

    @Override
    public SV getInternal() throws IOException {
        access.enter();
        try {
            DataInputDeserializer stored = access.get(column, key());
            return stored == null ? null : deserialize(stored, valueSerializer);
        } finally {
            access.exit();
        }
    }

    @Override
    public void updateInternal(SV valueToStore) throws IOException {
        if (valueToStore == null) {
            delete();
        } else {
            put(valueToStore, valueSerializer);
        }
    }

    @Override
    public void mergeNamespaces(N target, Collection<N> sources) throws Exception {
        if (sources == null || sources.isEmpty()) {
            return;
        }
        SV merged = null;
        for (N source : sources) {
            if (source != null) {
                setCurrentNamespace(source);
                merged = combineNullable(merged, take());
            }
        }
        if (merged != null) {
            setCurrentNamespace(target);
            SV former = getInternal();
            updateInternal(former == null ? merged : combine(merged, former));
        }
    }

    /** Removes and returns the value of the current namespace. */
    private SV take() throws IOException {
        SV value = getInternal();
        if (value != null) {
            delete();
        }
        return value;
    }

    private SV combineNullable(SV left, SV right) throws Exception {
        if (left == null) {
            return right;
        }
        return right == null ? left : combine(left, right);
    }
}
