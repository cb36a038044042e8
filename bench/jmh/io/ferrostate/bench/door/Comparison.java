package io.ferrostate.bench.door;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Benchmarks whose times are set in proportion to the first one's. What is compared, not how. */
final class Comparison {

    final String title;
    final List<Case> cases = new ArrayList<>();

    Comparison(String title) {
        this.title = title;
    }

    Comparison add(String label, Class<?> type, String method, String... parameters) {
        cases.add(new Case(label, type.getName() + '.' + method, parameters));
        return this;
    }

    /** One benchmark method with its parameters. */
    static final class Case {

        final String label;
        final String method;
        final Map<String, String> parameters = new TreeMap<>();

        Case(String label, String method, String... parameters) {
            this.label = label;
            this.method = method;
            for (int i = 0; i < parameters.length; i += 2) {
                this.parameters.put(parameters[i], parameters[i + 1]);
            }
        }
    }
}
