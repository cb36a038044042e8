package io.ferrostate.state;

import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.runtime.state.ListDelimitedSerializer;
import org.apache.flink.runtime.state.StateSnapshotTransformer;
import org.apache.flink.runtime.state.StateSnapshotTransformer.CollectionStateSnapshotTransformer;
import org.apache.flink.runtime.state.StateSnapshotTransformer.CollectionStateSnapshotTransformer.TransformStrategy;
import org.apache.flink.runtime.state.StateSnapshotTransformer.StateSnapshotTransformFactory;
import org.apache.flink.util.FlinkRuntimeException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Applies Flink's snapshot transforms (those that leave out expired values) to rows as they are
 * stored. A row that is transformed to null is left out of the snapshot.
 */
public final class SnapshotTransforms {

    private SnapshotTransforms() {}

    /** A factory that knows the rows of this kind of state. */
    @SuppressWarnings("unchecked")
    public static <SV, SEV> StateSnapshotTransformFactory<SV> of(
            StateDescriptor<?, SV> descriptor,
            StateSnapshotTransformFactory<SEV> transforms,
            TypeSerializer<SV> serializer) {
        if (descriptor instanceof ListStateDescriptor) {
            TypeSerializer<SEV> elements = ((ListSerializer<SEV>) serializer).getElementSerializer();
            return serialized(
                    () ->
                            transforms
                                    .createForDeserializedState()
                                    .map(each -> new ListRows<>(each, elements.duplicate())));
        }
        if (descriptor instanceof MapStateDescriptor) {
            return serialized(() -> transforms.createForSerializedState().map(MapRows::new));
        }
        return serialized(transforms::createForSerializedState);
    }

    @FunctionalInterface
    private interface Supplier {
        Optional<? extends StateSnapshotTransformer<byte[]>> get();
    }

    private static <SV> StateSnapshotTransformFactory<SV> serialized(Supplier supplier) {
        return new StateSnapshotTransformFactory<SV>() {
            @Override
            public Optional<StateSnapshotTransformer<SV>> createForDeserializedState() {
                throw new UnsupportedOperationException("Rows are transformed as they are stored.");
            }

            @Override
            public Optional<StateSnapshotTransformer<byte[]>> createForSerializedState() {
                return supplier.get().map(transformer -> transformer);
            }
        };
    }

    /** The value stands behind the byte that tells whether it is null. */
    private static final class MapRows implements StateSnapshotTransformer<byte[]> {

        private final StateSnapshotTransformer<byte[]> values;

        MapRows(StateSnapshotTransformer<byte[]> values) {
            this.values = values;
        }

        @Override
        public byte[] filterOrTransform(byte[] row) {
            if (row == null || row[0] != 0) {
                return row;
            }
            byte[] value = Arrays.copyOfRange(row, 1, row.length);
            byte[] transformed = values.filterOrTransform(value);
            if (transformed == null || transformed == value) {
                return transformed == null ? null : row;
            }
            byte[] result = new byte[transformed.length + 1];
            System.arraycopy(transformed, 0, result, 1, transformed.length);
            return result;
        }
    }

    /** Elements are transformed one by one. */
    private static final class ListRows<T> implements StateSnapshotTransformer<byte[]> {

        private final StateSnapshotTransformer<T> elements;
        private final TypeSerializer<T> serializer;
        private final boolean stopOnFirst;
        private final DataInputDeserializer input = new DataInputDeserializer();
        private final ListDelimitedSerializer lists = new ListDelimitedSerializer();

        ListRows(StateSnapshotTransformer<T> elements, TypeSerializer<T> serializer) {
            this.elements = elements;
            this.serializer = serializer;
            this.stopOnFirst =
                    elements instanceof CollectionStateSnapshotTransformer
                            && ((CollectionStateSnapshotTransformer<?>) elements)
                                            .getFilterStrategy()
                                    == TransformStrategy.STOP_ON_FIRST_INCLUDED;
        }

        @Override
        public byte[] filterOrTransform(byte[] row) {
            try {
                return row == null ? null : transform(row);
            } catch (IOException e) {
                throw new FlinkRuntimeException("Failed to transform a list for a snapshot.", e);
            }
        }

        private byte[] transform(byte[] row) throws IOException {
            List<T> kept = new ArrayList<>();
            input.setBuffer(row);
            while (input.available() > 0) {
                int start = input.getPosition();
                T element =
                        elements.filterOrTransform(
                                ListDelimitedSerializer.deserializeNextElement(input, serializer));
                if (element != null && stopOnFirst) {
                    return Arrays.copyOfRange(row, start, row.length);
                }
                if (element != null) {
                    kept.add(element);
                }
            }
            return kept.isEmpty() ? null : lists.serializeList(kept, serializer);
        }
    }
}
