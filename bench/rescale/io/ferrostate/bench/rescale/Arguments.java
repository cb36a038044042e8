package io.ferrostate.bench.rescale;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** What is measured: the command line of {@link RescaleBenchmark}. */
final class Arguments {

    /** Bytes of state, before compression. */
    long size = 1024 << 20;

    /** Bytes of a value, half of them zeros. */
    int value = 256;

    /** Managed memory of a subtask. */
    long memory = 256 << 20;

    int reads = 20_000;
    int rounds = 3;

    /** Restores from local copies of the files, which the kernel has forgotten. */
    boolean cold;

    /** Each restores what it wrote itself, not what Flink's backend wrote. */
    boolean own;

    /** The checkpoint is taken when compactions have come to rest, not while they run. */
    boolean settled;

    /** {@code <from>:<to>}; empty: all. */
    String only = "";

    List<Contender> contenders =
            List.of(Contender.FERROSTATE, Contender.ROCKSDB, Contender.ROCKSDB_INGEST);
    Path scratch = Path.of(System.getProperty("java.io.tmpdir"));

    private Arguments() {}

    static Arguments parse(String[] arguments) {
        Arguments parsed = new Arguments();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            if (equals < 0) {
                parsed.set(argument);
            } else {
                parsed.set(argument.substring(0, equals), argument.substring(equals + 1));
            }
        }
        return parsed;
    }

    private void set(String name) {
        switch (name) {
            case "--cold":
                cold = true;
                break;
            case "--own":
                own = true;
                break;
            case "--settled":
                settled = true;
                break;
            default:
                throw new IllegalArgumentException("Unknown argument " + name);
        }
    }

    private void set(String name, String value) {
        switch (name) {
            case "--size":
                size = Long.parseLong(value) << 20;
                break;
            case "--value":
                this.value = Integer.parseInt(value);
                break;
            case "--memory":
                memory = Long.parseLong(value) << 20;
                break;
            case "--reads":
                reads = Integer.parseInt(value);
                break;
            case "--rounds":
                rounds = Integer.parseInt(value);
                break;
            case "--only":
                only = value;
                break;
            case "--contenders":
                contenders =
                        Arrays.stream(value.split(","))
                                .map(Contender::valueOf)
                                .collect(Collectors.toList());
                break;
            case "--scratch":
                scratch = Path.of(value);
                break;
            default:
                throw new IllegalArgumentException("Unknown argument " + name);
        }
    }

    /** Rows of that size. */
    long keys() {
        return size / (value / 2 + Long.BYTES + 4);
    }
}
