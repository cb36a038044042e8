package io.ferrostate.timer;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Changes of timers that the store does not have yet, in the layout of {@link
 * io.ferrostate.jni.Native#timersWrite}: one change a timer, the last one. A timer that is added and
 * removed before its batch is written leaves no trace in the store. Writes nothing itself.
 *
 * <p>An array of entries and an open hash table of where they begin: no object a timer.
 */
final class TimerBatch {

    /** What is to be done with a timer, as the library reads it. */
    static final byte NOTHING = 0;

    static final byte PUT = 1;

    /** Put of a timer that the store is known not to have: removing it means nothing is to be done. */
    static final byte PUT_NEW = 2;

    static final byte DELETE = 3;

    private static final int CHANGE_AT = Integer.BYTES;
    private static final int KEY_AT = CHANGE_AT + 1;

    /** A batch of so many bytes is to be written. */
    private static final int FULL = 1 << 16;

    private static final int INITIAL_BYTES = 1 << 10;
    private static final int INITIAL_SLOTS = 1 << 7;

    private static final VarHandle INT =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final VarHandle LONG =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private byte[] entries = new byte[INITIAL_BYTES];
    private int length;

    /** Entries in {@link #entries}, and how many of them are to change something. */
    private int count;

    private int changes;

    /** Start of an entry plus one, 0 is free; and the hash of its key. */
    private int[] slots = new int[INITIAL_SLOTS];

    private int[] hashes = new int[INITIAL_SLOTS];

    /** Number of batches so far, this one included. */
    private long generation = 1;

    /** @param absent the store is known not to have it, apart from what this batch says. */
    void add(byte[] key, int keyLength, boolean absent) {
        int hash = hash(key, keyLength);
        int slot = find(key, keyLength, hash);
        if (slots[slot] == 0) {
            append(key, keyLength, hash, slot, absent ? PUT_NEW : PUT);
            return;
        }
        int change = slots[slot] - 1 + CHANGE_AT;
        if (entries[change] == NOTHING) {
            set(change, PUT_NEW);
        } else if (entries[change] == DELETE) {
            set(change, PUT);
        }
    }

    void remove(byte[] key, int keyLength) {
        int hash = hash(key, keyLength);
        int slot = find(key, keyLength, hash);
        if (slots[slot] == 0) {
            append(key, keyLength, hash, slot, DELETE);
            return;
        }
        int change = slots[slot] - 1 + CHANGE_AT;
        if (entries[change] == PUT_NEW) {
            set(change, NOTHING);
        } else if (entries[change] == PUT) {
            set(change, DELETE);
        }
    }

    boolean isFull() {
        return length >= FULL;
    }

    boolean hasChanges() {
        return changes > 0;
    }

    byte[] entries() {
        return entries;
    }

    int length() {
        return length;
    }

    long generation() {
        return generation;
    }

    /** Begins the next batch. */
    void clear() {
        length = 0;
        count = 0;
        changes = 0;
        generation++;
        if (entries.length > 2 * FULL) {
            entries = new byte[INITIAL_BYTES];
        }
        Arrays.fill(slots, 0);
    }

    private void set(int changeAt, byte change) {
        if (entries[changeAt] == NOTHING) {
            changes++;
        } else if (change == NOTHING) {
            changes--;
        }
        entries[changeAt] = change;
    }

    private void append(byte[] key, int keyLength, int hash, int slot, byte change) {
        int end = Math.addExact(length, Math.addExact(KEY_AT, keyLength));
        if (end > entries.length) {
            long doubled = Math.min(2L * entries.length, Integer.MAX_VALUE - 8);
            entries = Arrays.copyOf(entries, (int) Math.max(end, doubled));
        }
        INT.set(entries, length, keyLength);
        entries[length + CHANGE_AT] = change;
        System.arraycopy(key, 0, entries, length + KEY_AT, keyLength);
        slots[slot] = length + 1;
        hashes[slot] = hash;
        length = end;
        changes++;
        if (++count > slots.length / 2) {
            rehash();
        }
    }

    private void rehash() {
        int[] formerSlots = slots;
        int[] formerHashes = hashes;
        slots = new int[2 * formerSlots.length];
        hashes = new int[slots.length];
        for (int i = 0; i < formerSlots.length; i++) {
            if (formerSlots[i] != 0) {
                int slot = formerHashes[i] & (slots.length - 1);
                while (slots[slot] != 0) {
                    slot = (slot + 1) & (slots.length - 1);
                }
                slots[slot] = formerSlots[i];
                hashes[slot] = formerHashes[i];
            }
        }
    }

    /** The slot of the key, or the free one where it belongs. */
    private int find(byte[] key, int keyLength, int hash) {
        int slot = hash & (slots.length - 1);
        while (slots[slot] != 0 && !(hashes[slot] == hash && isAt(slots[slot] - 1, key, keyLength))) {
            slot = (slot + 1) & (slots.length - 1);
        }
        return slot;
    }

    private boolean isAt(int entry, byte[] key, int keyLength) {
        int keyAt = entry + KEY_AT;
        return (int) INT.get(entries, entry) == keyLength
                && Arrays.equals(entries, keyAt, keyAt + keyLength, key, 0, keyLength);
    }

    /** Eight bytes at a time: keys of timers are some dozens of bytes long. */
    private static int hash(byte[] key, int length) {
        long hash = length;
        int at = 0;
        for (; at + Long.BYTES <= length; at += Long.BYTES) {
            hash = mix(hash ^ (long) LONG.get(key, at));
        }
        for (; at < length; at++) {
            hash = hash * 31 + key[at];
        }
        hash = mix(hash);
        return (int) (hash ^ hash >>> 32);
    }

    private static long mix(long value) {
        long product = value * 0x9E3779B97F4A7C15L;
        return product ^ product >>> 29;
    }
}
