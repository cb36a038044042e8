package io.ferrostate.state;

import io.ferrostate.backend.StateAccess;

import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.runtime.state.internal.InternalValueState;

import java.io.IOException;

/** Value state: the row's value is the serialized value. */
final class ValueStateImpl<K, N, V> extends AbstractState<K, N, V>
        implements InternalValueState<K, N, V> {

    ValueStateImpl(StateAccess<K> access) {
        super(access);
    }

    @Override
    public V value() throws IOException {
        access.enter();
        try {
            DataInputDeserializer stored = access.get(column, key());
            return stored == null ? defaultValue() : deserialize(stored, valueSerializer);
        } finally {
            access.exit();
        }
    }

    @Override
    public void update(V value) throws IOException {
        if (value == null) {
            delete();
        } else {
            put(value, valueSerializer);
        }
    }
}
