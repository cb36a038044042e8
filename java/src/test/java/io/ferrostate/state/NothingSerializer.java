package io.ferrostate.state;

import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** Values of which there is one, so that it takes no byte to say which. Of variable length, it says. */
public final class NothingSerializer extends TypeSerializerSingleton<String> {

    static final NothingSerializer INSTANCE = new NothingSerializer();
    static final String NOTHING = "nothing";

    private static final long serialVersionUID = 1L;

    @Override
    public boolean isImmutableType() {
        return true;
    }

    @Override
    public String createInstance() {
        return NOTHING;
    }

    @Override
    public String copy(String from) {
        return from;
    }

    @Override
    public String copy(String from, String reuse) {
        return from;
    }

    @Override
    public int getLength() {
        return -1;
    }

    @Override
    public void serialize(String record, DataOutputView target) {}

    @Override
    public String deserialize(DataInputView source) {
        return NOTHING;
    }

    @Override
    public String deserialize(String reuse, DataInputView source) {
        return NOTHING;
    }

    @Override
    public void copy(DataInputView source, DataOutputView target) {}

    @Override
    public TypeSerializerSnapshot<String> snapshotConfiguration() {
        return new Snapshot();
    }

    /** For Flink. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<String> {
        public Snapshot() {
            super(NothingSerializer::new);
        }
    }
}
