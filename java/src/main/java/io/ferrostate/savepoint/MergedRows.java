package io.ferrostate.savepoint;

import org.apache.flink.runtime.state.KeyValueStateIterator;
import org.apache.flink.util.IOUtils;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * The rows of all states by key group and within it by state: the order that a canonical savepoint
 * has. Stands at the first row from the beginning.
 */
final class MergedRows implements KeyValueStateIterator {

    /** One state's rows, standing at one of them. */
    private static final class Source {

        private final int stateId;
        private final StateRows rows;
        private int keyGroup;
        private byte[] key;

        Source(int stateId, StateRows rows) {
            this.stateId = stateId;
            this.rows = rows;
        }

        boolean advance(int keyGroupBytes) throws IOException {
            if (!rows.next()) {
                rows.close();
                return false;
            }
            key = rows.key();
            keyGroup = 0;
            for (int i = 0; i < keyGroupBytes; i++) {
                keyGroup = keyGroup << 8 | key[i] & 0xff;
            }
            return true;
        }

        int keyGroup() {
            return keyGroup;
        }

        int stateId() {
            return stateId;
        }
    }

    private final int keyGroupBytes;
    private final List<Source> sources = new ArrayList<>();
    private final PriorityQueue<Source> waiting =
            new PriorityQueue<>(
                    Comparator.comparingInt(Source::keyGroup).thenComparingInt(Source::stateId));

    private Source current;
    private boolean newKeyGroup = true;
    private boolean newState = true;

    /**
     * @param states in the order of their ids.
     */
    MergedRows(List<StateRows> states, int keyGroupBytes) throws IOException {
        this.keyGroupBytes = keyGroupBytes;
        for (StateRows rows : states) {
            Source source = new Source(sources.size(), rows);
            sources.add(source);
            if (source.advance(keyGroupBytes)) {
                waiting.add(source);
            }
        }
        current = waiting.poll();
    }

    @Override
    public void next() throws IOException {
        Source former = current;
        int formerKeyGroup = former.keyGroup;
        boolean sameGroup = former.advance(keyGroupBytes);
        if (sameGroup && former.keyGroup != formerKeyGroup) {
            waiting.add(former);
            sameGroup = false;
        }
        if (!sameGroup) {
            current = waiting.poll();
        }
        newState = current != former;
        newKeyGroup = current != null && current.keyGroup != formerKeyGroup;
    }

    @Override
    public int keyGroup() {
        return current.keyGroup;
    }

    @Override
    public byte[] key() {
        return current.key;
    }

    @Override
    public byte[] value() {
        return current.rows.value();
    }

    @Override
    public int kvStateId() {
        return current.stateId;
    }

    @Override
    public boolean isNewKeyValueState() {
        return newState;
    }

    @Override
    public boolean isNewKeyGroup() {
        return newKeyGroup;
    }

    @Override
    public boolean isValid() {
        return current != null;
    }

    @Override
    public void close() {
        sources.forEach(source -> IOUtils.closeQuietly(source.rows));
    }
}
