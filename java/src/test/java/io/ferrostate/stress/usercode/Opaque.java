package io.ferrostate.stress.usercode;

import java.util.ArrayDeque;
import java.util.Deque;

/** A type that Flink knows nothing of and leaves to Kryo. */
public final class Opaque {
    private final Deque<String> seen = new ArrayDeque<>();

    Opaque add(String what) {
        seen.add(what);
        return this;
    }

    int size() {
        return seen.size();
    }
}
