package io.ferrostate.compatibility;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** A record of a {@link ScriptedJob}: what the subtask that has this key is to do. */
public final class Command {

    static final TypeInformation<Command> TYPE = Types.POJO(Command.class);

    /** The kinds. */
    public enum Kind {
        /** A round of the workload on the key. */
        ROUND,
        /** Become the watermark {@code number}. Of this one the key does not count. */
        WATERMARK,
        /** Report all state of the subtask as dump {@code number}. */
        DUMP,
        /** The same, of the states that nothing but the first round has touched too. */
        DUMP_ALL,
        FAIL
    }

    public Kind kind;
    public String key;
    public long number;

    /** For Flink's serializer. */
    public Command() {}

    Command(Kind kind, String key, long number) {
        this.kind = kind;
        this.key = key;
        this.number = number;
    }
}
