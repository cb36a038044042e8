package io.ferrostate.backend;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Histogram;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;

import java.util.Map;
import java.util.TreeMap;

/** Remembers the metrics that are registered with it, under the names of their groups. */
public final class NamedMetrics extends UnregisteredMetricsGroup {

    private final String path;
    private final Map<String, Gauge<?>> gauges;
    private final Map<String, Histogram> histograms;

    public NamedMetrics() {
        this("", new TreeMap<>(), new TreeMap<>());
    }

    private NamedMetrics(
            String path, Map<String, Gauge<?>> gauges, Map<String, Histogram> histograms) {
        this.path = path;
        this.gauges = gauges;
        this.histograms = histograms;
    }

    public Map<String, Gauge<?>> gauges() {
        return gauges;
    }

    public Map<String, Histogram> histograms() {
        return histograms;
    }

    @Override
    public <T, G extends Gauge<T>> G gauge(String name, G gauge) {
        assertThat(gauges.put(path + name, gauge)).as(name).isNull();
        return gauge;
    }

    @Override
    public <H extends Histogram> H histogram(String name, H histogram) {
        histograms.put(path + name, histogram);
        return histogram;
    }

    @Override
    public MetricGroup addGroup(String name) {
        return new NamedMetrics(path + name + ".", gauges, histograms);
    }

    @Override
    public MetricGroup addGroup(String key, String value) {
        return new NamedMetrics(path + key + "=" + value + ".", gauges, histograms);
    }
}
