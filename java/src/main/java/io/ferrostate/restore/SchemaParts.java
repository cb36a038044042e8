package io.ferrostate.restore;

import io.ferrostate.backend.OtherSchema;

import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot.CommonSerializerKeys;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshotReadersWriters;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * What the parts of a rescale say of one state. They say the same, unless the state was migrated in some
 * subtasks only: then values stay in the schema of their part until the job registers the state. What
 * cannot be migrated (its kind, its namespaces, timers) must be the same everywhere.
 *
 * <p>Flink's own backends take the first part's word for all.
 */
final class SchemaParts {

    private static final int BUFFER = 256;
    private static final String NAMESPACE = CommonSerializerKeys.NAMESPACE_SERIALIZER.toString();
    private static final String VALUE = CommonSerializerKeys.VALUE_SERIALIZER.toString();

    /** Of all key groups but those of the others; null before there is one. */
    private StateMetaInfoSnapshot main;

    /** Whether rows are in the main one's schema. */
    private boolean mainHasRows;

    private final List<OtherSchema> others = new ArrayList<>();

    StateMetaInfoSnapshot snapshot() {
        return main;
    }

    List<OtherSchema> others() {
        return Collections.unmodifiableList(new ArrayList<>(others));
    }

    /** @param keyGroups whose rows are in this schema, maybe none. */
    void add(StateMetaInfoSnapshot part, KeyGroupRange keyGroups) throws IOException {
        boolean hasRows = keyGroups.getNumberOfKeyGroups() > 0;
        if (main == null || (hasRows && !mainHasRows)) {
            main = part;
            mainHasRows = hasRows;
        } else if (hasRows && !isSame(main, part)) {
            checkSameKind(part);
            addOther(part, keyGroups);
        }
    }

    private void addOther(StateMetaInfoSnapshot part, KeyGroupRange keyGroups) throws IOException {
        if (reads(main, part, VALUE)) {
            return;
        }
        if (others.isEmpty() && reads(part, main, VALUE)) {
            main = part; // can read what the others wrote, but not the other way round
            return;
        }
        if (part.getBackendStateType() == StateMetaInfoSnapshot.BackendStateType.PRIORITY_QUEUE) {
            throw different(part, "timers", VALUE);
        }
        others.add(new OtherSchema(keyGroups, part));
    }

    private void checkSameKind(StateMetaInfoSnapshot part) throws IOException {
        if (part.getBackendStateType() != main.getBackendStateType()
                || !part.getOptionsImmutable().equals(main.getOptionsImmutable())) {
            throw new IOException(
                    String.format(
                            "The state '%s' is of kind %s %s here and of kind %s %s in another part"
                                    + " of the checkpoint.",
                            part.getName(),
                            part.getBackendStateType(),
                            part.getOptionsImmutable(),
                            main.getBackendStateType(),
                            main.getOptionsImmutable()));
        }
        if (!reads(main, part, NAMESPACE) && !reads(part, main, NAMESPACE)) {
            throw different(part, "namespaces", NAMESPACE);
        }
    }

    private IOException different(StateMetaInfoSnapshot part, String what, String serializer) {
        return new IOException(
                String.format(
                        "The %s of the state '%s' are in another schema here (%s) than in another part"
                                + " of the checkpoint (%s), and cannot be migrated. Restore with the"
                                + " former parallelism.",
                        what,
                        part.getName(),
                        part.getSerializerSnapshotsImmutable().get(serializer),
                        main.getSerializerSnapshotsImmutable().get(serializer)));
    }

    /** Whether values written in one schema are good as they are for the serializer of another one. */
    private static boolean reads(
            StateMetaInfoSnapshot reader, StateMetaInfoSnapshot written, String serializer) {
        TypeSerializerSnapshot<?> one = reader.getSerializerSnapshotsImmutable().get(serializer);
        TypeSerializerSnapshot<?> two = written.getSerializerSnapshotsImmutable().get(serializer);
        if (one == null || two == null) {
            return one == two;
        }
        try {
            return one.getClass() == two.getClass() && isCompatibleAsIs(one, two);
        } catch (RuntimeException unknown) {
            return false;
        }
    }

    @SuppressWarnings("unchecked")
    private static <T> boolean isCompatibleAsIs(
            TypeSerializerSnapshot<T> reader, TypeSerializerSnapshot<?> written) {
        return reader.resolveSchemaCompatibility((TypeSerializerSnapshot<T>) written)
                .isCompatibleAsIs();
    }

    private static boolean isSame(StateMetaInfoSnapshot one, StateMetaInfoSnapshot two) {
        try {
            return Arrays.equals(bytes(one), bytes(two));
        } catch (IOException | RuntimeException unknown) {
            return false; // a snapshot that can be read but not written again: looked at more closely
        }
    }

    private static byte[] bytes(StateMetaInfoSnapshot snapshot) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(BUFFER);
        StateMetaInfoSnapshotReadersWriters.getWriter().writeStateMetaInfoSnapshot(snapshot, out);
        return out.getCopyOfBuffer();
    }
}
