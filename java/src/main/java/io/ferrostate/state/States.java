package io.ferrostate.state;

import io.ferrostate.backend.StateAccess;

import org.apache.flink.api.common.state.StateDescriptor;

/** Makes the state object for a kind of state; its registration is a call of its own. */
public final class States {

    private States() {}

    /** An object whose values are of the type that the descriptor's kind of state stores. */
    @SuppressWarnings("unchecked")
    public static <K, N, V> AbstractState<K, N, V> create(
            StateDescriptor<?, V> descriptor, StateAccess<K> access) {
        return (AbstractState<K, N, V>) ofKind(descriptor, access);
    }

    private static <K> AbstractState<K, ?, ?> ofKind(
            StateDescriptor<?, ?> descriptor, StateAccess<K> access) {
        switch (descriptor.getType()) {
            case VALUE:
                return new ValueStateImpl<>(access);
            case LIST:
                return new ListStateImpl<>(access);
            case MAP:
                return new MapStateImpl<>(access);
            case REDUCING:
                return new ReducingStateImpl<>(access);
            case AGGREGATING:
                return new AggregatingStateImpl<>(access);
            default:
                throw new UnsupportedOperationException(
                        "State '" + descriptor.getName() + "' is of a kind that Ferrostate does not"
                                + " have: " + descriptor.getClass().getName());
        }
    }
}
