package io.ferrostate.state;

import io.ferrostate.backend.ScanPage;
import io.ferrostate.backend.Texts;

import org.apache.flink.core.memory.DataInputDeserializer;

import java.io.IOException;
import java.util.Map;
import java.util.Objects;

/** One entry of a map state that an iterator returned. Key and value are deserialized when asked for. */
final class MapEntry<K, UK, UV> implements Map.Entry<UK, UV> {

    private final MapStateImpl<K, ?, UK, UV> state;
    private final DataInputDeserializer input;
    private final byte[] bytes;
    private final int prefixLength;
    private final int keyOffset;
    private final int keyLength;
    private final int valueLength;

    private UK userKey;
    private UV userValue;
    private boolean keyRead;
    private boolean valueRead;
    private boolean removed;

    MapEntry(
            MapStateImpl<K, ?, UK, UV> state,
            DataInputDeserializer input,
            ScanPage page,
            int prefixLength) {
        this.state = state;
        this.input = input;
        this.bytes = page.bytes();
        this.prefixLength = prefixLength;
        this.keyOffset = page.keyOffset();
        this.keyLength = page.keyLength();
        this.valueLength = page.valueLength();
    }

    @Override
    public UK getKey() {
        if (!keyRead) {
            userKey = readKey();
            keyRead = true;
        }
        return userKey;
    }

    @Override
    public UV getValue() {
        if (removed) {
            return null;
        }
        if (!valueRead) {
            userValue = readValue();
            valueRead = true;
        }
        return userValue;
    }

    @Override
    public UV setValue(UV value) {
        if (removed) {
            throw new IllegalStateException("The value has already been deleted.");
        }
        UV former = getValue();
        state.access().enter();
        try {
            state.writeValue(value);
            state.access().putInMap(state.column(), bytes, keyOffset, keyLength, prefixLength);
        } catch (IOException e) {
            throw state.failed("update", e);
        } finally {
            state.access().exit();
        }
        userValue = value;
        return former;
    }

    void remove() {
        state.access().enter();
        try {
            state.access().deleteInMap(state.column(), bytes, keyOffset, keyLength, prefixLength);
        } catch (IOException e) {
            throw state.failed("remove an entry of", e);
        } finally {
            state.access().exit();
        }
        removed = true;
        userValue = null;
    }

    boolean isRemoved() {
        return removed;
    }

    private UK readKey() {
        try {
            input.setBuffer(bytes, keyOffset + prefixLength, keyLength - prefixLength);
            return Texts.deserialize(input, bytes, state.userKeySerializer());
        } catch (IOException e) {
            throw state.failed("deserialize a user key of", e);
        }
    }

    private UV readValue() {
        try {
            input.setBuffer(bytes, keyOffset + keyLength, valueLength);
            return input.readBoolean()
                    ? null
                    : Texts.deserialize(input, bytes, state.userValueSerializer());
        } catch (IOException e) {
            throw state.failed("deserialize a user value of", e);
        }
    }

    @Override
    public boolean equals(Object o) {
        if (!(o instanceof Map.Entry)) {
            return false;
        }
        Map.Entry<?, ?> other = (Map.Entry<?, ?>) o;
        return Objects.equals(getKey(), other.getKey())
                && Objects.equals(getValue(), other.getValue());
    }

    @Override
    public int hashCode() {
        return Objects.hashCode(getKey()) ^ Objects.hashCode(getValue());
    }

    @Override
    public String toString() {
        return getKey() + "=" + getValue();
    }
}
