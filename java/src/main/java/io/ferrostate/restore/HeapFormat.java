package io.ferrostate.restore;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;

import java.io.DataInputStream;
import java.io.IOException;

/**
 * Tells a checkpoint of Flink's hashmap backend from a canonical savepoint by its bytes. The classes of
 * the handles do not: Flink before 1.13, and 1.15 for full checkpoints, handed canonical savepoints over
 * as it still does those of the heap.
 */
final class HeapFormat {

    /** A first key of 64 KiB can look like the heap's mark in one key group, but not in two. */
    private static final int PROBES = 2;

    private HeapFormat() {}

    /**
     * Whether each key group begins with its own number, as the heap's do; a savepoint's begin with the
     * number of a state and the length of a key, or with the mark of a compressed stream. Without two key
     * groups to look into the answer is no: reading it then fails on the first row.
     */
    static boolean isIn(KeyGroupsStateHandle handle) throws IOException {
        int probed = 0;
        try (FSDataInputStream stream = handle.openInputStream()) {
            DataInputStream in = new DataInputStream(stream);
            for (Tuple2<Integer, Long> keyGroup : handle.getGroupRangeOffsets()) {
                // A savepoint leaves out empty key groups; of number 0 both formats can begin alike.
                if (keyGroup.f0 == 0 || keyGroup.f1 == 0) {
                    continue;
                }
                stream.seek(keyGroup.f1);
                if (in.readInt() != keyGroup.f0) {
                    return false;
                }
                if (++probed == PROBES) {
                    return true;
                }
            }
        }
        return false;
    }
}
