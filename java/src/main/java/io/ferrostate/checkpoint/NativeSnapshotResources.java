package io.ferrostate.checkpoint;

import org.apache.flink.runtime.state.SnapshotDirectory;
import org.apache.flink.runtime.state.SnapshotResources;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.List;

/** What the synchronous part of a snapshot leaves for the asynchronous part. */
public final class NativeSnapshotResources implements SnapshotResources {

    private static final Logger LOG = LoggerFactory.getLogger(NativeSnapshotResources.class);

    private final SnapshotDirectory directory;
    private final List<StateMetaInfoSnapshot> states;
    private final Ledger.Base base;
    private final long syncMillis;

    NativeSnapshotResources(
            SnapshotDirectory directory,
            List<StateMetaInfoSnapshot> states,
            Ledger.Base base,
            long syncMillis) {
        this.directory = directory;
        this.states = states;
        this.base = base;
        this.syncMillis = syncMillis;
    }

    SnapshotDirectory directory() {
        return directory;
    }

    List<StateMetaInfoSnapshot> states() {
        return states;
    }

    Ledger.Base base() {
        return base;
    }

    long syncMillis() {
        return syncMillis;
    }

    /** Called by Flink once, after the asynchronous part ended or was given up. */
    @Override
    public void release() {
        base.close();
        try {
            // Leaves a directory alone that local recovery took over.
            directory.cleanup();
        } catch (IOException kept) {
            LOG.warn("Could not delete the local snapshot directory {}.", directory, kept);
        }
    }
}
