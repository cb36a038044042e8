package io.ferrostate.bench.door;

import java.nio.ByteBuffer;

/**
 * The natives of bench/door: one get and one put in every way of crossing. All but {@code Trusted}
 * ones take a handle of {@link #entryOpen}; those take {@link #entryAddress}.
 */
final class Door {

    static final String LIBRARY_PROPERTY = "ferrostate.bench.door";

    static {
        System.load(System.getProperty(LIBRARY_PROPERTY));
        init();
    }

    private Door() {}

    private static native void init();

    static native int emptyRaw(int value);

    static native int emptyGuarded(int value);

    static native int emptyWithEnv(int value);

    static native long entryOpen(byte[] key, byte[] value);

    static native long entryAddress(long entry);

    static native void entryClose(long entry);

    static native int pageGet(long entry, long key, int keyLength, long value, int capacity);

    static native int pageGetUncaught(
            long entry, long key, int keyLength, long value, int capacity);

    static native int pageGetTrusted(
            long address, long key, int keyLength, long value, int capacity);

    static native void pagePut(long entry, long key, int keyLength, long value, int valueLength);

    static native int regionGet(long entry, byte[] key, int keyLength, byte[] value, int capacity);

    static native int regionGetTrusted(
            long address, byte[] key, int keyLength, byte[] value, int capacity);

    static native void regionPut(
            long entry, byte[] key, int keyLength, byte[] value, int valueLength);

    static native int criticalGet(
            long entry, byte[] key, int keyLength, byte[] value, int capacity);

    static native void criticalPut(
            long entry, byte[] key, int keyLength, byte[] value, int valueLength);

    static native byte[] arrayGet(long entry, byte[] key);

    static native byte[] arrayGetTrusted(long address, byte[] key);

    static native void arrayPut(long entry, byte[] key, byte[] value);

    static native int directGet(
            long entry, ByteBuffer key, int keyLength, ByteBuffer value, int capacity);

    static native void directPut(
            long entry, ByteBuffer key, int keyLength, ByteBuffer value, int valueLength);

    static native int crateRegionGet(
            long entry, byte[] key, int keyLength, byte[] value, int capacity);

    static native void crateRegionPut(
            long entry, byte[] key, int keyLength, byte[] value, int valueLength);

    static native byte[] crateArrayGet(long entry, byte[] key);

    static native int crateDirectGet(
            long entry, ByteBuffer key, int keyLength, ByteBuffer value, int capacity);
}
