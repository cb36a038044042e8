package io.ferrostate;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Says that a test class has ended, and how: suites run for minutes. JUnit finds it by its entry in
 * META-INF/services.
 */
public final class Progress implements TestExecutionListener {

    private final Map<String, Count> counts = new ConcurrentHashMap<>();

    private static final class Count {
        final long started = System.nanoTime();
        int ended;
        int failed;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (isClass(test)) {
            counts.put(test.getUniqueId(), new Count());
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (isClass(test)) {
            Count count = counts.remove(test.getUniqueId());
            System.out.printf(
                    "%-60s %4d tests %3d failed %5d s%n",
                    test.getDisplayName(),
                    count.ended,
                    count.failed,
                    (System.nanoTime() - count.started) / 1_000_000_000);
        } else if (test.isTest()) {
            boolean failed = result.getStatus() == TestExecutionResult.Status.FAILED;
            counts.forEach(
                    (id, count) -> {
                        if (test.getUniqueId().startsWith(id + "/")) {
                            count.ended++;
                            count.failed += failed ? 1 : 0;
                        }
                    });
        }
    }

    private static boolean isClass(TestIdentifier test) {
        return test.getSource().filter(ClassSource.class::isInstance).isPresent();
    }
}
