package io.ferrostate.conformance;

import io.ferrostate.FerrostateStateBackend;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.ttl.StateBackendTestContext;
import org.apache.flink.runtime.state.ttl.TtlStateTestBase;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

/** Flink's own tests of states with a time to live. */
@ExtendWith(NotYet.class)
class TtlFerrostateConformanceTest extends TtlStateTestBase {

    @TempDir static Path directory;

    @Override
    protected StateBackendTestContext createStateBackendTestContext(TtlTimeProvider timeProvider) {
        return new StateBackendTestContext(timeProvider) {
            @Override
            protected StateBackend createStateBackend() {
                return new FerrostateStateBackend(true)
                        .setLocalDirectories(directory.toString())
                        .configure(new Configuration(), getClass().getClassLoader());
            }
        };
    }
}
