package io.ferrostate.bench.state;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Which keys exist and in which order they are asked for; how much managed memory there is for them. */
public enum Space {
    /** All in memory, uniform. */
    SMALL(100_000, 100_000, 256, false),
    /** The sizes of apache/flink-benchmarks' state suite, uniform. */
    FLINK(500_000, 500_000, 256, false),
    /** State several times the managed memory, uniform. */
    LARGE(1_000_000, 4_000_000, 128, false),
    /** The same state, asked for by a Zipf distribution with exponent 1. */
    ZIPF(1_000_000, 4_000_000, 128, true);

    private static final int SAMPLES = 1 << 22;

    private final int quickKeys;
    private final int fullKeys;
    private final int fullMegabytes;
    private final boolean skewed;

    Space(int quickKeys, int fullKeys, int fullMegabytes, boolean skewed) {
        this.quickKeys = quickKeys;
        this.fullKeys = fullKeys;
        this.fullMegabytes = fullMegabytes;
        this.skewed = skewed;
    }

    public int keys(boolean full) {
        return full ? fullKeys : quickKeys;
    }

    /** Managed memory in bytes: in the same proportion to the state in both modes. */
    public long managedMemory(boolean full) {
        return ((long) fullMegabytes << 20) * keys(full) / fullKeys;
    }

    /** Whether values are large enough that the state is several times the memory. */
    boolean isLarge() {
        return this == LARGE || this == ZIPF;
    }

    /** Keys in the order in which they are used, again and again. */
    public int[] order(boolean full) {
        SplittableRandom random = new SplittableRandom(42);
        int keys = keys(full);
        int[] order = new int[SAMPLES];
        if (!skewed) {
            Arrays.setAll(order, i -> random.nextInt(keys));
            return order;
        }
        double[] cumulative = new double[keys];
        double sum = 0;
        for (int rank = 0; rank < keys; rank++) {
            sum += 1.0 / (rank + 1);
            cumulative[rank] = sum;
        }
        int[] keyOfRank = permutation(keys, random);
        for (int i = 0; i < SAMPLES; i++) {
            int found = Arrays.binarySearch(cumulative, random.nextDouble(sum));
            order[i] = keyOfRank[Math.min(keys - 1, found < 0 ? -found - 1 : found)];
        }
        return order;
    }

    /** Hot keys are not neighbours. */
    private static int[] permutation(int size, SplittableRandom random) {
        int[] permutation = new int[size];
        Arrays.setAll(permutation, i -> i);
        for (int i = size - 1; i > 0; i--) {
            int j = random.nextInt(i + 1);
            int swapped = permutation[i];
            permutation[i] = permutation[j];
            permutation[j] = swapped;
        }
        return permutation;
    }
}
