package io.ferrostate.bench.door;

import java.util.ArrayList;
import java.util.List;

/** What is compared, in the quick run and in the full one. */
final class Comparisons {

    private final boolean full;
    private final List<Comparison> list = new ArrayList<>();

    private Comparisons(boolean full) {
        this.full = full;
    }

    static List<Comparison> of(boolean full, boolean database) {
        Comparisons comparisons = new Comparisons(full);
        comparisons.crossing();
        comparisons.roundTrips();
        if (full) {
            comparisons.serialization();
        }
        if (database) {
            comparisons.database();
        }
        return comparisons.list;
    }

    private Comparison start(String title) {
        Comparison comparison = new Comparison(title);
        list.add(comparison);
        return comparison;
    }

    private void crossing() {
        Class<?> type = CrossingBenchmark.class;
        start("a call that does nothing")
                .add("raw native", type, "emptyRaw", "size", "50")
                .add("guarded as in the door", type, "emptyGuarded", "size", "50")
                .add("jni crate, with_env", type, "emptyWithEnv", "size", "50");
        get("50", true);
        put("50", true);
        get("65536", full);
        if (full) {
            put("65536", true);
            for (String size : new String[] {"100", "1024"}) {
                get(size, true);
                put(size, true);
            }
        }
    }

    private void get(String size, boolean all) {
        Class<?> type = CrossingBenchmark.class;
        Comparison get = start("get, crossing only, key of 20 bytes, value of " + size);
        get.add("page (the door's natives)", type, "getPage", "size", size);
        if (all) {
            get.add("page, no catch_unwind", type, "getPageUncaught", "size", size);
            get.add("page, no checked handle either", type, "getPageTrusted", "size", size);
            get.add("page, bulk copies in and out by Java", type, "getPageCopied", "size", size);
        }
        get.add("regions of the caller's arrays", type, "getRegion", "size", size);
        get.add("critical arrays", type, "getCritical", "size", size);
        get.add("new array", type, "getArray", "size", size);
        if (full && all) {
            get.add("regions, no guard, no handle", type, "getRegionTrusted", "size", size);
            get.add("new array, no guard, no handle", type, "getArrayTrusted", "size", size);
            get.add("jni crate, direct buffers", type, "getCrateDirect", "size", size);
        }
        if (all) {
            get.add("direct buffers", type, "getDirect", "size", size);
            get.add("jni crate, regions", type, "getCrateRegion", "size", size);
            get.add("jni crate, new array", type, "getCrateArray", "size", size);
        }
    }

    private void put(String size, boolean all) {
        Class<?> type = CrossingBenchmark.class;
        Comparison put = start("put, crossing only, key of 20 bytes, value of " + size);
        put.add("page (the door's natives)", type, "putPage", "size", size);
        put.add("page, bulk copies in by Java", type, "putPageCopied", "size", size);
        put.add("regions of the caller's arrays", type, "putRegion", "size", size);
        put.add("critical arrays", type, "putCritical", "size", size);
        put.add("arrays", type, "putArray", "size", size);
        if (full && all) {
            put.add("direct buffers", type, "putDirect", "size", size);
            put.add("jni crate, regions", type, "putCrateRegion", "size", size);
        }
    }

    private void roundTrips() {
        for (Sample sample : Sample.values()) {
            boolean large = sample == Sample.STRING_1K || sample == Sample.BYTES_64K;
            if (full) {
                roundTrip(sample, "false");
            }
            if (full || !large && sample != Sample.LONG) {
                roundTrip(sample, "true");
            }
        }
    }

    private void roundTrip(Sample sample, String mixed) {
        Class<?> type = RoundTripBenchmark.class;
        String how = "true".equals(mixed) ? "as in a job" : "used for this only";
        String[] parameters = {"sample", sample.name(), "mixed", mixed};
        for (String access : new String[] {"read", "write"}) {
            Comparison trip = start(access + " with serializers, " + sample + ", " + how);
            trip.add("page, serialized in place", type, access + "Page", parameters);
            trip.add("page, one bulk copy (the door)", type, access + "PageCopied", parameters);
            trip.add("regions of arrays", type, access + "Region", parameters);
            if (full) {
                trip.add("critical arrays", type, access + "Critical", parameters);
            }
            trip.add("new arrays", type, access + "Array", parameters);
        }
    }

    private void serialization() {
        Class<?> type = SerializationBenchmark.class;
        for (Sample sample : Sample.values()) {
            for (String mixed : new String[] {"false", "true"}) {
                String[] parameters = {"sample", sample.name(), "mixed", mixed};
                String what = sample + ("true".equals(mixed) ? ", as in a job" : ", used for this only");
                start("serialize alone, " + what)
                        .add("to the page", type, "serializeToPage", parameters)
                        .add("to an array", type, "serializeToArray", parameters);
                start("deserialize alone, " + what)
                        .add("from the page", type, "deserializeFromPage", parameters)
                        .add("from an array", type, "deserializeFromArray", parameters);
            }
        }
    }

    private void database() {
        Class<?> type = DatabaseBenchmark.class;
        for (String flushed : full ? new String[] {"false", "true"} : new String[] {"false"}) {
            String where = "true".equals(flushed) ? "cached file" : "memtable";
            for (String operation : new String[] {"getHit", "getMiss", "put", "merge", "scan10"}) {
                start("database, " + operation + ", " + where)
                        .add("Ferrostate", type, operation, with(Engine.FERROSTATE, flushed))
                        .add("RocksDB's JNI", type, operation, with(Engine.ROCKSDB, flushed));
            }
        }
    }

    private static String[] with(Engine engine, String flushed) {
        return new String[] {"engine", engine.name(), "flushed", flushed};
    }
}
