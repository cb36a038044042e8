package io.ferrostate.backend;

import org.apache.flink.runtime.state.RegisteredStateMetaInfoBase;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/** A registered state: what Flink knows of it, and the column family that holds its data. */
public final class RegisteredState {

    private final RegisteredStateMetaInfoBase metaInfo;
    private final Column column;
    private final List<OtherSchema> others;

    public RegisteredState(RegisteredStateMetaInfoBase metaInfo, Column column) {
        this(metaInfo, column, Collections.emptyList());
    }

    /** @param others restored with the state, gone once the job registers it. */
    public RegisteredState(
            RegisteredStateMetaInfoBase metaInfo, Column column, List<OtherSchema> others) {
        this.metaInfo = metaInfo;
        this.column = column;
        this.others = others;
    }

    public RegisteredStateMetaInfoBase metaInfo() {
        return metaInfo;
    }

    public Column column() {
        return column;
    }

    public List<OtherSchema> others() {
        return others;
    }

    public RegisteredState withMetaInfo(RegisteredStateMetaInfoBase newMetaInfo) {
        return new RegisteredState(newMetaInfo, column, others);
    }

    /** What a snapshot says of the state; it has room for one schema only. */
    public StateMetaInfoSnapshot snapshot() throws IOException {
        if (!others.isEmpty()) {
            throw new IOException(
                    String.format(
                            "State '%s' was restored from parts in different schemas: the values of"
                                    + " the key groups %s are migrated when the job registers it,"
                                    + " which it has not done yet. No snapshot can be taken before."
                                    + " Register the state when the operator opens, or restore with"
                                    + " the former parallelism and let each subtask use it.",
                            metaInfo.getName(),
                            others.stream()
                                    .map(other -> other.keyGroups().prettyPrintInterval())
                                    .collect(Collectors.joining(", "))));
        }
        return metaInfo.snapshot();
    }
}
