package io.ferrostate.flinktests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Makes Ferrostate the default backend of this JVM, and proves for each test class that it was used: a
 * line {@code <class> <fresh backends> <restored ones> {<handle class>=<number>, ...}} in the file that
 * {@code ferrostate.redirections} names. The build fails when a class has none.
 */
public final class Redirections implements LauncherSessionListener, TestExecutionListener {

    private static int fresh;
    private static int restored;
    private static final Map<String, Integer> HANDLES = new TreeMap<>();

    static synchronized void made(Collection<KeyedStateHandle> handles) {
        if (handles.isEmpty()) {
            fresh++;
        } else {
            restored++;
        }
        handles.forEach(
                handle -> HANDLES.merge(handle.getClass().getSimpleName(), 1, Integer::sum));
    }

    /** Mini clusters read no configuration file: the option's own default is the only lever. */
    @Override
    public void launcherSessionOpened(LauncherSession session) {
        try {
            var value = ConfigOption.class.getDeclaredField("defaultValue");
            value.setAccessible(true);
            value.set(StateBackendOptions.STATE_BACKEND, RedirectedBackendFactory.class.getName());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("Flink's ConfigOption has changed", e);
        }
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (isTestClass(test)) {
            reset();
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (isTestClass(test)) {
            report(((ClassSource) test.getSource().get()).getClassName());
        }
    }

    private static boolean isTestClass(TestIdentifier test) {
        return test.isContainer()
                && test.getSource().filter(source -> source instanceof ClassSource).isPresent();
    }

    private static synchronized void reset() {
        fresh = 0;
        restored = 0;
        HANDLES.clear();
    }

    private static synchronized void report(String testClass) {
        String line = testClass + " " + fresh + " " + restored + " " + HANDLES + "\n";
        try {
            Files.writeString(
                    Path.of(System.getProperty("ferrostate.redirections")),
                    line,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
