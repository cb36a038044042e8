package io.ferrostate.compatibility;

import io.ferrostate.FerrostateStateBackendFactory;

/** The backends, by what a user writes into {@code state.backend.type}. */
enum BackendType {
    FERROSTATE(FerrostateStateBackendFactory.class.getName()),
    ROCKSDB("rocksdb"),
    HASHMAP("hashmap");

    final String value;

    BackendType(String value) {
        this.value = value;
    }
}
