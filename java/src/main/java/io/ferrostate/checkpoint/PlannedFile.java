package io.ferrostate.checkpoint;

import io.ferrostate.jni.Native;

import org.apache.flink.runtime.state.PhysicalStateHandleID;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** One file of a local checkpoint and what the library's plan says about it. */
final class PlannedFile {

    private static final int COLUMNS = 6;

    private final String name;
    private final long size;
    private final boolean sst;
    private final String copySource;
    private final PlaceholderStreamStateHandle reusable;

    private PlannedFile(PlannedFile planned) {
        this.name = planned.name;
        this.size = planned.size;
        this.sst = planned.sst;
        this.copySource = null;
        this.reusable = planned.reusable;
    }

    private PlannedFile(String[] rows, int at) {
        this.name = rows[at];
        this.size = Long.parseLong(rows[at + 1]);
        this.sst = "sst".equals(rows[at + 2]);
        this.copySource = "copy".equals(rows[at + 3]) ? rows[at + 4] : null;
        this.reusable =
                "reuse".equals(rows[at + 3])
                        ? new PlaceholderStreamStateHandle(
                                new PhysicalStateHandleID(rows[at + 4]),
                                size,
                                "merged".equals(rows[at + 5]))
                        : null;
    }

    /**
     * Compares a local checkpoint with what may be reused.
     *
     * @param own whether the snapshot must not refer to files of others.
     * @return largest file first.
     */
    static List<PlannedFile> plan(Ledger.Base base, boolean own, Path localDirectory)
            throws IOException {
        String[] rows = Native.planSnapshot(base.handle(), own, localDirectory.toString());
        List<PlannedFile> files = new ArrayList<>(rows.length / COLUMNS);
        for (int at = 0; at < rows.length; at += COLUMNS) {
            files.add(new PlannedFile(rows, at));
        }
        return files;
    }

    /** As if the store had nothing of it. */
    PlannedFile notCopied() {
        return new PlannedFile(this);
    }

    String name() {
        return name;
    }

    long size() {
        return size;
    }

    boolean isSst() {
        return sst;
    }

    /** Physical id of an object that may have the same bytes still, or null. */
    String copySource() {
        return copySource;
    }

    /** Stands for the object that a confirmed checkpoint already has, or null: a new one. */
    PlaceholderStreamStateHandle reusable() {
        return reusable;
    }
}
