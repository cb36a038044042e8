package io.ferrostate.conformance;

import java.util.Arrays;
import java.util.List;
import org.apache.flink.runtime.state.StateBackendMigrationTestBase;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameter;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameters;
import org.junit.jupiter.api.extension.ExtendWith;

/** The measure for {@link MigrationFerrostateConformanceTest}. */
@ExtendWith(ParameterizedTestExtension.class)
class MigrationRocksDBBaselineTest
        extends StateBackendMigrationTestBase<EmbeddedRocksDBStateBackend> {

    @Parameter(0)
    public boolean incremental;

    @Parameters(name = "incremental={0}")
    public static List<Object[]> variants() {
        return Arrays.asList(new Object[] {true}, new Object[] {false});
    }

    @Override
    protected EmbeddedRocksDBStateBackend getStateBackend() {
        return RocksDBSubject.create(incremental, tempFolder);
    }
}
