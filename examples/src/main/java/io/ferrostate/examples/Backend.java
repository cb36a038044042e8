package io.ferrostate.examples;

import java.util.Arrays;
import java.util.Locale;

/** The state backends that the demo can run on, with the one line that switches to each. */
enum Backend {
    FERROSTATE("io.ferrostate.FerrostateStateBackendFactory"),
    ROCKSDB("rocksdb"),
    HASHMAP("hashmap");

    /** Value of {@code state.backend.type}. */
    final String type;

    Backend(String type) {
        this.type = type;
    }

    static Backend of(String name) {
        for (Backend backend : values()) {
            if (backend.toString().equals(name)) {
                return backend;
            }
        }
        throw new IllegalArgumentException(
                "no such backend: " + name + ", take one of " + Arrays.toString(values()));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
