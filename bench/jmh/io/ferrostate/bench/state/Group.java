package io.ferrostate.bench.state;

import java.util.ArrayList;
import java.util.List;

/** Cases that share a filled state: what is measured, not how. */
final class Group {

    final Class<? extends Cases<?>> type;
    final Space space;

    private Group(Class<? extends Cases<?>> type, Space space) {
        this.type = type;
        this.space = space;
    }

    String title() {
        return type.getSimpleName().replace("Cases", "").toLowerCase(java.util.Locale.ROOT)
                + "/"
                + space.name().toLowerCase(java.util.Locale.ROOT);
    }

    static List<Group> of(boolean full) {
        List<Group> groups = new ArrayList<>();
        for (Class<? extends Cases<?>> type :
                List.of(
                        ValueCases.class, ListCases.class, MapCases.class, FoldCases.class,
                        TtlCases.class, TimerCases.class, StringCases.class, RowCases.class)) {
            groups.add(new Group(type, Space.SMALL));
        }
        if (full) {
            groups.add(new Group(ValueCases.class, Space.FLINK));
            groups.add(new Group(ListCases.class, Space.FLINK));
            groups.add(new Group(MapCases.class, Space.FLINK));
        }
        groups.add(new Group(LargeValueCases.class, Space.LARGE));
        groups.add(new Group(LargeValueCases.class, Space.ZIPF));
        if (full) {
            groups.add(new Group(TimerCases.class, Space.LARGE));
            groups.add(new Group(LargeListCases.class, Space.LARGE));
            groups.add(new Group(LargeMapCases.class, Space.LARGE));
            groups.add(new Group(LargeMapCases.class, Space.ZIPF));
        }
        return groups;
    }
}
