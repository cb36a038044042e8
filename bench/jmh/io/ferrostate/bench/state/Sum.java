package io.ferrostate.bench.state;

import org.apache.flink.api.common.functions.AggregateFunction;

/** The sum of what was added. */
public final class Sum implements AggregateFunction<Long, Long, Long> {

    private static final long serialVersionUID = 1;

    @Override
    public Long createAccumulator() {
        return 0L;
    }

    @Override
    public Long add(Long value, Long sum) {
        return sum + value;
    }

    @Override
    public Long getResult(Long sum) {
        return sum;
    }

    @Override
    public Long merge(Long one, Long other) {
        return one + other;
    }
}
