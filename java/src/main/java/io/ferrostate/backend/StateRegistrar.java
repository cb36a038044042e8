package io.ferrostate.backend;

import io.ferrostate.state.AbstractState;
import io.ferrostate.state.SnapshotTransforms;
import io.ferrostate.state.States;

import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.StateSnapshotTransformer.StateSnapshotTransformFactory;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot.CommonOptionsKeys;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot.CommonSerializerKeys;
import org.apache.flink.util.StateMigrationException;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

/**
 * Registers key-value states: new ones get a column family, known ones (restored or registered
 * before) have their serializers compared and, if need be, their values migrated. A registration that
 * fails leaves a restored state as it was restored: it can be registered again, and snapshots keep it.
 */
final class StateRegistrar<K> {

    private final Database database;
    private final Map<String, RegisteredState> states;
    private final StateAccess<K> access;
    private final StateMigration migration;
    private final TtlFilters ttlFilters;
    private final Map<String, AbstractState<K, ?, ?>> objects = new HashMap<>();

    StateRegistrar(
            Database database,
            Map<String, RegisteredState> states,
            StateAccess<K> access,
            StateMigration migration,
            TtlFilters ttlFilters) {
        this.database = database;
        this.states = states;
        this.access = access;
        this.migration = migration;
        this.ttlFilters = ttlFilters;
    }

    <N, SV, SEV> AbstractState<K, N, SV> createOrUpdate(
            TypeSerializer<N> namespaceSerializer,
            StateDescriptor<?, SV> descriptor,
            StateSnapshotTransformFactory<SEV> transforms,
            boolean allowFutureMetadataUpdates)
            throws Exception {
        RegisteredState known = states.get(descriptor.getName());
        RegisteredKeyValueStateBackendMetaInfo<N, SV> metaInfo =
                known == null
                        ? newMetaInfo(namespaceSerializer, descriptor)
                        : update(known, namespaceSerializer, descriptor);
        if (allowFutureMetadataUpdates) {
            metaInfo = metaInfo.withSerializerUpgradesAllowed();
        }
        Column column =
                known == null ? database.column(descriptor.getName()) : known.column();
        states.put(descriptor.getName(), new RegisteredState(metaInfo, column));
        metaInfo.updateSnapshotTransformFactory(
                SnapshotTransforms.of(descriptor, transforms, metaInfo.getStateSerializer()));
        if (allowFutureMetadataUpdates) {
            ttlFilters.disable(column); // as in Flink: the serializer is not the last one yet
        } else {
            ttlFilters.register(column, descriptor, metaInfo.getStateSerializer());
        }
        if (descriptor.getType() == StateDescriptor.Type.MAP) {
            access.filterMaps(column, metaInfo.getNamespaceSerializer());
        }
        return object(descriptor, metaInfo, column);
    }

    private static <N, SV> RegisteredKeyValueStateBackendMetaInfo<N, SV> newMetaInfo(
            TypeSerializer<N> namespaceSerializer, StateDescriptor<?, SV> descriptor) {
        return new RegisteredKeyValueStateBackendMetaInfo<>(
                descriptor.getType(),
                descriptor.getName(),
                namespaceSerializer,
                descriptor.getSerializer());
    }

    private <N, SV> RegisteredKeyValueStateBackendMetaInfo<N, SV> update(
            RegisteredState known,
            TypeSerializer<N> namespaceSerializer,
            StateDescriptor<?, SV> descriptor)
            throws Exception {
        RegisteredKeyValueStateBackendMetaInfo<N, SV> metaInfo = keyValue(known);
        TypeSerializer<N> previousNamespace = metaInfo.getNamespaceSerializer();
        // Refuses a second registration, before anything has changed.
        TypeSerializerSchemaCompatibility<N> namespaces =
                metaInfo.updateNamespaceSerializer(namespaceSerializer);
        try {
            checkNamespace(metaInfo.getName(), namespaces, previousNamespace, namespaceSerializer);
            metaInfo.checkStateMetaInfo(descriptor);
            updateValues(known, metaInfo, descriptor);
            return metaInfo;
        } catch (Throwable failure) {
            states.put(metaInfo.getName(), known.withMetaInfo(asRestored(metaInfo, previousNamespace)));
            throw failure;
        }
    }

    private <N, SV> void updateValues(
            RegisteredState known,
            RegisteredKeyValueStateBackendMetaInfo<N, SV> metaInfo,
            StateDescriptor<?, SV> descriptor)
            throws Exception {
        // An incompatible serializer makes the former one inaccessible: take it before, for the text.
        TypeSerializer<SV> previous = metaInfo.getStateSerializer();
        TypeSerializerSchemaCompatibility<SV> compatibility =
                metaInfo.updateStateSerializer(descriptor.getSerializer());
        checkCompatible(compatibility, descriptor, previous);
        FormerSchemas<SV> former = new FormerSchemas<>();
        if (compatibility.isCompatibleAfterMigration()) {
            former.ofTheRest(metaInfo);
        }
        for (OtherSchema other : known.others()) {
            RegisteredKeyValueStateBackendMetaInfo<N, SV> part =
                    new RegisteredKeyValueStateBackendMetaInfo<>(other.snapshot());
            TypeSerializer<SV> written = part.getStateSerializer();
            TypeSerializerSchemaCompatibility<SV> ofPart =
                    part.updateStateSerializer(descriptor.getSerializer());
            checkCompatible(ofPart, descriptor, written);
            // What was reconfigured is for the others' values: as they are, these may not suit it.
            boolean asIs =
                    ofPart.isCompatibleAsIs()
                            && !compatibility.isCompatibleWithReconfiguredSerializer();
            former.of(other.keyGroups(), asIs ? null : part);
        }
        if (!former.isEmpty()) {
            ttlFilters.disable(known.column());
            // An object of its own: the one in use knows nothing of the new schema until it is there.
            AbstractState<K, N, SV> rewriter = States.create(descriptor, access);
            rewriter.register(descriptor, metaInfo, known.column());
            migration.run(descriptor, metaInfo, rewriter, former);
        }
    }

    private static <SV> void checkCompatible(
            TypeSerializerSchemaCompatibility<SV> compatibility,
            StateDescriptor<?, SV> descriptor,
            TypeSerializer<SV> previous)
            throws StateMigrationException {
        if (compatibility.isIncompatible()) {
            throw new StateMigrationException(
                    "The new serializer of state '" + descriptor.getName() + "' ("
                            + descriptor.getSerializer()
                            + ") must not be incompatible with the old one (" + previous + ").");
        }
    }

    /** What was restored, as if nothing had been registered for it. */
    private static <N, SV> RegisteredKeyValueStateBackendMetaInfo<N, SV> asRestored(
            RegisteredKeyValueStateBackendMetaInfo<N, SV> metaInfo, TypeSerializer<N> namespaces) {
        Map<String, TypeSerializerSnapshot<?>> serializers = new HashMap<>();
        serializers.put(
                CommonSerializerKeys.NAMESPACE_SERIALIZER.toString(),
                namespaces.snapshotConfiguration());
        serializers.put(
                CommonSerializerKeys.VALUE_SERIALIZER.toString(),
                metaInfo.getPreviousStateSerializerSnapshot());
        return new RegisteredKeyValueStateBackendMetaInfo<>(
                new StateMetaInfoSnapshot(
                        metaInfo.getName(),
                        StateMetaInfoSnapshot.BackendStateType.KEY_VALUE,
                        Collections.singletonMap(
                                CommonOptionsKeys.KEYED_STATE_TYPE.toString(),
                                metaInfo.getStateType().toString()),
                        serializers));
    }

    @SuppressWarnings("unchecked")
    private static <N, SV> RegisteredKeyValueStateBackendMetaInfo<N, SV> keyValue(
            RegisteredState known) throws StateMigrationException {
        if (!(known.metaInfo() instanceof RegisteredKeyValueStateBackendMetaInfo)) {
            throw new StateMigrationException(
                    "State '" + known.metaInfo().getName() + "' was restored as "
                            + known.metaInfo().getClass().getSimpleName()
                            + " and cannot be registered as key-value state.");
        }
        return (RegisteredKeyValueStateBackendMetaInfo<N, SV>) known.metaInfo();
    }

    private static <N> void checkNamespace(
            String state,
            TypeSerializerSchemaCompatibility<N> compatibility,
            TypeSerializer<N> previous,
            TypeSerializer<N> serializer)
            throws StateMigrationException {
        if (compatibility.isCompatibleAfterMigration() || compatibility.isIncompatible()) {
            throw new StateMigrationException(
                    "The new namespace serializer of state '" + state + "' (" + serializer
                            + ") must be compatible with the old one (" + previous + ").");
        }
    }

    /** The same object each time, so that those who hold it see later registrations. */
    @SuppressWarnings("unchecked")
    private <N, SV> AbstractState<K, N, SV> object(
            StateDescriptor<?, SV> descriptor,
            RegisteredKeyValueStateBackendMetaInfo<N, SV> metaInfo,
            Column column) {
        AbstractState<K, N, SV> object =
                (AbstractState<K, N, SV>) objects.get(descriptor.getName());
        if (object == null) {
            object = States.create(descriptor, access);
        }
        object.register(descriptor, metaInfo, column);
        objects.put(descriptor.getName(), object);
        return object;
    }
}
