package io.ferrostate.backend;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.IOUtils;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Streams of the keys that states have, each as it was when the stream was made. Closing a stream
 * closes its scans; disposing the backend closes those that were forgotten.
 */
final class KeyStreams<K> {

    private final Map<String, RegisteredState> states;
    private final Cursors cursors;
    private final StateAccess<K> access;

    KeyStreams(Map<String, RegisteredState> states, Cursors cursors, StateAccess<K> access) {
        this.states = states;
        this.cursors = cursors;
        this.access = access;
    }

    /** Keys with this namespace in any of the states, each once, in the order of their bytes. */
    <N> Stream<K> keys(List<String> names, N namespace) {
        List<KeyIterator.Source<K>> sources = new ArrayList<>();
        try {
            byte[] namespaceBytes = null;
            for (String name : names) {
                RegisteredState state = keyValueState(name);
                if (state != null) {
                    RowKeys<K, N> keys = rowKeys(state);
                    byte[] bytes = keys.serialize(namespace);
                    if (namespaceBytes != null && !Arrays.equals(bytes, namespaceBytes)) {
                        throw new FlinkRuntimeException(
                                "Key namespaces are different for states " + names);
                    }
                    namespaceBytes = bytes;
                    sources.add(new KeyIterator.Source<>(keys, cursors.open(state.column(), true)));
                }
            }
            KeyIterator<K> keys = new KeyIterator<>(names, sources, namespaceBytes);
            return stream(keys, keys::close);
        } catch (IOException | RuntimeException e) {
            IOUtils.closeAllQuietly(sources);
            throw failed(names, e);
        }
    }

    <N> Stream<Tuple2<K, N>> keysAndNamespaces(String name) {
        RegisteredState state = keyValueState(name);
        if (state == null) {
            return Stream.empty();
        }
        RowKeys<K, N> keys = rowKeys(state);
        try {
            KeyAndNamespaceIterator<K, N> rows =
                    new KeyAndNamespaceIterator<>(name, keys, cursors.open(state.column(), true));
            return stream(rows, rows::close);
        } catch (IOException e) {
            throw failed(Collections.singletonList(name), e);
        }
    }

    private RegisteredState keyValueState(String name) {
        RegisteredState state = states.get(name);
        boolean usable =
                state != null
                        && state.metaInfo() instanceof RegisteredKeyValueStateBackendMetaInfo;
        return usable ? state : null;
    }

    @SuppressWarnings("unchecked")
    private <N> RowKeys<K, N> rowKeys(RegisteredState state) {
        TypeSerializer<N> namespaceSerializer =
                ((RegisteredKeyValueStateBackendMetaInfo<N, ?>) state.metaInfo())
                        .getNamespaceSerializer();
        return new RowKeys<>(access.keySerializer(), namespaceSerializer, access.keyGroupBytes());
    }

    private static <T> Stream<T> stream(Iterator<T> iterator, Runnable close) {
        Spliterator<T> spliterator =
                Spliterators.spliteratorUnknownSize(iterator, Spliterator.ORDERED);
        return StreamSupport.stream(spliterator, false).onClose(close);
    }

    static FlinkRuntimeException failed(List<String> states, Exception cause) {
        return new FlinkRuntimeException("Failed to read the keys of states " + states, cause);
    }
}
