package io.ferrostate.metrics;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.backend.Column;
import io.ferrostate.backend.Database;
import io.ferrostate.backend.OptionSet;
import io.ferrostate.jni.Native;

import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Registers the metrics of one database that the options ask for ({@link MetricOptions}), under the
 * names that Flink's RocksDB backend gives them. A value is read when a reporter asks for it; while the
 * database is opened or closed, and afterwards, it is the one that was read last.
 *
 * <p>They are no {@link org.apache.flink.metrics.View}s, as Flink's are: Flink holds those for seconds
 * after the job has gone, and with them its class loader.
 */
public final class DatabaseMetrics {

    private static final Logger LOG = LoggerFactory.getLogger(DatabaseMetrics.class);

    private final Database database;
    private final MetricGroup group;
    private final OptionSet options;
    private final List<String> properties = new ArrayList<>();

    /** By name: a state that is migrated changes its column family, but not its metrics. */
    private final Map<String, AtomicReference<Column>> columns = new HashMap<>();

    private DatabaseMetrics(Database database, MetricGroup group, OptionSet options) {
        this.database = database;
        this.group = group;
        this.options = options;
        MetricOptions.properties()
                .forEach(
                        (option, names) -> {
                            if (options.get(option)) {
                                properties.addAll(names);
                            }
                        });
    }

    /** Registers the metrics of a database and of the column families it has and will have. */
    public static void register(Database database, MetricGroup group, OptionSet options) {
        DatabaseMetrics metrics = new DatabaseMetrics(database, group, options);
        if (options.get(FerrostateOptions.BUFFER_ENABLED)) {
            MetricOptions.BUFFER_COUNTERS.forEach(
                    counter ->
                            metrics.ofDatabase(
                                    "ferrostate.buffer-" + counter,
                                    "ferrostate.buffer-" + counter));
        }
        MetricOptions.tickers()
                .forEach(
                        (option, names) -> {
                            if (options.get(option)) {
                                metrics.ofDatabase(
                                        "rocksdb." + names[0],
                                        "ferrostate.ticker.rocksdb." + names[1]);
                            }
                        });
        if (!metrics.properties.isEmpty()) {
            database.observeColumns(metrics::ofColumn);
        }
    }

    private void ofDatabase(String name, String property) {
        group.gauge(name, new LastRead(name, open -> Native.dbProperty(open, 0, property)));
    }

    /** On the task's thread. */
    private void ofColumn(Column column) {
        AtomicReference<Column> known = columns.get(column.name());
        if (known != null) {
            known.set(column);
            return;
        }
        AtomicReference<Column> current = new AtomicReference<>(column);
        columns.put(column.name(), current);
        MetricGroup ofState =
                options.get(MetricOptions.COLUMN_FAMILY_AS_VARIABLE)
                        ? group.addGroup("column_family", column.name())
                        : group.addGroup(column.name());
        for (String property : properties) {
            String name = "rocksdb." + property;
            ofState.gauge(name, new LastRead(name, open -> property(open, current.get(), name)));
        }
    }

    /** Null while the state has no column family: 0 would mean the whole database. */
    private static String property(long open, Column column, String name) throws IOException {
        long state = column.handle();
        return state == 0 ? null : Native.dbProperty(open, state, name);
    }

    /** An unsigned number that RocksDB gives as text. */
    private final class LastRead implements Gauge<BigInteger> {

        private final String name;
        private final Database.NativeCall<String> source;
        private volatile BigInteger value = BigInteger.ZERO;
        private volatile boolean failed;

        LastRead(String name, Database.NativeCall<String> source) {
            this.name = name;
            this.source = source;
        }

        @Override
        public BigInteger getValue() {
            if (!failed) {
                try {
                    database.unlessBusy(this::read);
                } catch (IOException | RuntimeException e) {
                    failed = true;
                    LOG.warn("Metric {} cannot be read and stays as it is.", name, e);
                }
            }
            return value;
        }

        private void read(long open) throws IOException {
            String text = source.run(open);
            if (text != null) {
                value = new BigInteger(text);
            }
        }
    }
}
