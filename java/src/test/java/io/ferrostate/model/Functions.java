package io.ferrostate.model;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.ReduceFunction;

/**
 * What reducing and aggregating states of the model do. The order of their arguments does not matter,
 * since Flink's own backends merge namespaces in different orders.
 */
final class Functions {

    private Functions() {}

    static final class Sum implements ReduceFunction<Long> {

        private static final long serialVersionUID = 1L;

        @Override
        public Long reduce(Long left, Long right) {
            return left + right;
        }
    }

    /** Counts each digit; the result names the digits that came. */
    static final class Digits implements AggregateFunction<Integer, String, String> {

        private static final long serialVersionUID = 1L;

        @Override
        public String createAccumulator() {
            return "";
        }

        @Override
        public String add(Integer value, String accumulator) {
            return merge(accumulator, Integer.toString(value));
        }

        @Override
        public String getResult(String accumulator) {
            return "digits " + accumulator;
        }

        @Override
        public String merge(String left, String right) {
            return (left + right).chars().sorted().collect(
                            StringBuilder::new,
                            StringBuilder::appendCodePoint,
                            StringBuilder::append)
                    .toString();
        }
    }
}
