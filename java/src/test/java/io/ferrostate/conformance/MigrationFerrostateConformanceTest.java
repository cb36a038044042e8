package io.ferrostate.conformance;

import io.ferrostate.FerrostateStateBackend;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.StateBackendMigrationTestBase;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameter;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameters;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.Arrays;
import java.util.List;

/** Flink's own tests of schema evolution. */
@ExtendWith({NotYet.class, ParameterizedTestExtension.class})
class MigrationFerrostateConformanceTest
        extends StateBackendMigrationTestBase<FerrostateStateBackend> {

    @Parameter(0)
    public boolean incremental;

    @Parameters(name = "incremental={0}")
    public static List<Object[]> variants() {
        return Arrays.asList(new Object[] {true}, new Object[] {false});
    }

    @Override
    protected FerrostateStateBackend getStateBackend() {
        return new FerrostateStateBackend(incremental)
                .setLocalDirectories(tempFolder.toString())
                .configure(new Configuration(), getClass().getClassLoader());
    }
}
