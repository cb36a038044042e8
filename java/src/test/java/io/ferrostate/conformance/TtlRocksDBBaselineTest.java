package io.ferrostate.conformance;

import java.nio.file.Path;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.ttl.StateBackendTestContext;
import org.apache.flink.runtime.state.ttl.TtlStateTestBase;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The measure for {@link TtlFerrostateConformanceTest}, with incremental snapshots. */
@ExtendWith(NotYet.class)
class TtlRocksDBBaselineTest extends TtlStateTestBase {

    @TempDir static Path directory;

    @Override
    protected StateBackendTestContext createStateBackendTestContext(TtlTimeProvider timeProvider) {
        return new StateBackendTestContext(timeProvider) {
            @Override
            protected StateBackend createStateBackend() {
                return RocksDBSubject.create(true, directory);
            }
        };
    }
}
