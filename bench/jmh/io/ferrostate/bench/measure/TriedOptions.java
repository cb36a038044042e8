package io.ferrostate.bench.measure;

import java.util.Map;
import java.util.TreeMap;

/** Options to try on Ferrostate: {@code -Dferrostate.bench.options=key=value,key=value}. */
public final class TriedOptions {

    private TriedOptions() {}

    public static Map<String, String> given() {
        String given = System.getProperty(Child.OPTIONS, "");
        Map<String, String> options = new TreeMap<>();
        if (!given.isEmpty()) {
            for (String option : given.split(",")) {
                String[] parts = option.split("=", 2);
                options.put(parts[0], parts[1]);
            }
        }
        return options;
    }
}
