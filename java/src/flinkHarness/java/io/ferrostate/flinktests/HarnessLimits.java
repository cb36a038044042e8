package io.ferrostate.flinktests;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.opentest4j.TestAbortedException;

/**
 * Skips, with the reason, the tests of Flink's operators that only its heap backend can pass: those of
 * {@code heap-only.txt}, and those in which the harness counts entries, which it does by a cast. Anything
 * else that goes wrong stays a failure.
 */
public final class HarnessLimits implements ExecutionCondition, TestExecutionExceptionHandler {

    private static final String LIST = "/heap-only.txt";

    private final Set<String> heapOnly = read();

    private static Set<String> read() {
        try (BufferedReader lines =
                new BufferedReader(
                        new InputStreamReader(
                                HarnessLimits.class.getResourceAsStream(LIST),
                                StandardCharsets.UTF_8))) {
            return lines.lines().collect(Collectors.toSet());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        String test =
                context.getRequiredTestClass().getSimpleName()
                        + context.getTestMethod().map(method -> "#" + method.getName()).orElse("");
        return heapOnly.contains(test)
                ? ConditionEvaluationResult.disabled("fails on Flink's RocksDB backend too: " + LIST)
                : ConditionEvaluationResult.enabled("");
    }

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure)
            throws Throwable {
        if (failure instanceof UnsupportedOperationException
                && String.valueOf(failure.getMessage())
                        .startsWith("Unsupported keyed state backend: ")) {
            throw new TestAbortedException("the harness counts entries of the heap only", failure);
        }
        throw failure;
    }
}
