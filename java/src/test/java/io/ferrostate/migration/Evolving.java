package io.ferrostate.migration;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

import java.io.IOException;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Texts behind the number of the schema that wrote them, which only the same schema reads. It says
 * itself what it is to schemas before it, and lets a test step in before each text it writes.
 */
public final class Evolving extends TypeSerializer<String> {

    private static final long serialVersionUID = 1L;

    /** What a serializer is to the state that one of another schema wrote. */
    enum Evolution {
        AS_IS,
        RECONFIGURED,
        AFTER_MIGRATION,
        INCOMPATIBLE
    }

    private static final Consumer<String> NOTHING = text -> {};

    private final int schema;
    private final Evolution evolution;
    private final transient Consumer<String> beforeWriting;

    Evolving(int schema, Evolution evolution) {
        this(schema, evolution, NOTHING);
    }

    Evolving(int schema, Evolution evolution, Consumer<String> beforeWriting) {
        this.schema = schema;
        this.evolution = evolution;
        this.beforeWriting = beforeWriting;
    }

    /** The serializer of a first run. */
    static Evolving first() {
        return new Evolving(1, Evolution.AS_IS);
    }

    /** The serializer of a second run; one that is compatible as is writes the first one's schema. */
    static Evolving second(Evolution evolution) {
        return new Evolving(evolution == Evolution.AS_IS ? 1 : 2, evolution);
    }

    @Override
    public void serialize(String record, DataOutputView target) throws IOException {
        beforeWriting.accept(record);
        target.writeInt(schema);
        target.writeUTF(record);
    }

    @Override
    public String deserialize(DataInputView source) throws IOException {
        int written = source.readInt();
        if (written != schema) {
            throw new IOException("Schema " + schema + " cannot read schema " + written);
        }
        return source.readUTF();
    }

    @Override
    public String deserialize(String reuse, DataInputView source) throws IOException {
        return deserialize(source);
    }

    @Override
    public void copy(DataInputView source, DataOutputView target) throws IOException {
        serialize(deserialize(source), target);
    }

    @Override
    public TypeSerializerSnapshot<String> snapshotConfiguration() {
        return new Snapshot(schema, evolution);
    }

    @Override
    public boolean isImmutableType() {
        return true;
    }

    @Override
    public TypeSerializer<String> duplicate() {
        return this;
    }

    @Override
    public String createInstance() {
        return "";
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
    public boolean equals(Object o) {
        return o instanceof Evolving
                && ((Evolving) o).schema == schema
                && ((Evolving) o).evolution == evolution;
    }

    @Override
    public int hashCode() {
        return Objects.hash(schema, evolution);
    }

    @Override
    public String toString() {
        return "Evolving(" + schema + ", " + evolution + ")";
    }

    /** Holds the schema. */
    public static final class Snapshot implements TypeSerializerSnapshot<String> {

        private int schema;
        private Evolution evolution = Evolution.AS_IS;

        /** For Flink, which then reads. */
        public Snapshot() {}

        private Snapshot(int schema, Evolution evolution) {
            this.schema = schema;
            this.evolution = evolution;
        }

        @Override
        public int getCurrentVersion() {
            return 1;
        }

        @Override
        public void writeSnapshot(DataOutputView out) throws IOException {
            out.writeInt(schema);
        }

        @Override
        public void readSnapshot(int version, DataInputView in, ClassLoader classLoader)
                throws IOException {
            schema = in.readInt();
        }

        @Override
        public TypeSerializer<String> restoreSerializer() {
            return new Evolving(schema, Evolution.AS_IS);
        }

        @Override
        public TypeSerializerSchemaCompatibility<String> resolveSchemaCompatibility(
                TypeSerializerSnapshot<String> old) {
            int former = ((Snapshot) old).schema;
            if (former == schema) {
                return TypeSerializerSchemaCompatibility.compatibleAsIs();
            }
            switch (evolution) {
                case RECONFIGURED:
                    return TypeSerializerSchemaCompatibility.compatibleWithReconfiguredSerializer(
                            new Evolving(former, Evolution.AS_IS));
                case AFTER_MIGRATION:
                    return TypeSerializerSchemaCompatibility.compatibleAfterMigration();
                default:
                    return TypeSerializerSchemaCompatibility.incompatible();
            }
        }
    }
}
