package io.ferrostate.backend;

import org.apache.flink.runtime.state.RegisteredStateMetaInfoBase;

/** A registered state: what Flink knows of it, and the column family that holds its data. */
public final class RegisteredState {

    private final RegisteredStateMetaInfoBase metaInfo;
    private final Column column;

    public RegisteredState(RegisteredStateMetaInfoBase metaInfo, Column column) {
        this.metaInfo = metaInfo;
        this.column = column;
    }

    public RegisteredStateMetaInfoBase metaInfo() {
        return metaInfo;
    }

    public Column column() {
        return column;
    }

    public RegisteredState withMetaInfo(RegisteredStateMetaInfoBase newMetaInfo) {
        return new RegisteredState(newMetaInfo, column);
    }
}
