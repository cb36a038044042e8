package io.ferrostate.bench.door;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;
import io.ferrostate.jni.Page;
import io.ferrostate.jni.PageInput;
import io.ferrostate.jni.PageOutput;

import java.io.File;
import java.io.IOException;
import java.nio.ByteOrder;

/** Through io.ferrostate.jni.Native and its pages. */
final class FerrostateStore implements Store {

    private static final int CAPACITY = 1 << 14;
    private static final int SCAN_ENTRIES = 128;
    private static final boolean REVERSED = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private final long database;
    private final long state;
    private final Page keyPage;
    private final Page valuePage;
    private final PageOutput keyOutput;
    private final PageOutput valueOutput;
    private final PageInput input = new PageInput();
    private final byte[] read = new byte[CAPACITY];

    FerrostateStore(File directory) throws IOException {
        NativeLibrary.load();
        database = Native.dbOpen(directory.getPath(), new String[0], 0);
        state = Native.stateOpen(database, "state");
        keyPage = new Page(CAPACITY);
        valuePage = new Page(CAPACITY);
        keyOutput = new PageOutput(keyPage);
        valueOutput = new PageOutput(valuePage);
    }

    @Override
    public int get(byte[] key) throws IOException {
        int keyLength = toPage(key, keyOutput);
        int length =
                Native.get(state, keyPage.address(), keyLength, valuePage.address(), CAPACITY);
        if (length < 0) {
            return -1;
        }
        input.set(valuePage, 0, length);
        input.readFully(read, 0, length);
        return read[0];
    }

    @Override
    public void put(byte[] key, byte[] value) throws IOException {
        int keyLength = toPage(key, keyOutput);
        int valueLength = toPage(value, valueOutput);
        Native.put(state, keyPage.address(), keyLength, valuePage.address(), valueLength);
    }

    @Override
    public void merge(byte[] key, byte[] operand) throws IOException {
        int keyLength = toPage(key, keyOutput);
        int valueLength = toPage(operand, valueOutput);
        Native.merge(state, keyPage.address(), keyLength, valuePage.address(), valueLength);
    }

    @Override
    public int scan(byte[] prefix) throws IOException {
        int length = toPage(prefix, keyOutput);
        int used =
                Native.scan(
                        state, keyPage.address(), length, length, false, SCAN_ENTRIES,
                        valuePage.address(), CAPACITY);
        input.set(valuePage, 0, used);
        int count = nativeInt();
        if (nativeInt() != 0) {
            throw new IOException("The benchmark's prefixes fit into one page.");
        }
        for (int i = 0; i < count; i++) {
            int keyLength = nativeInt();
            int valueLength = nativeInt();
            input.readFully(read, 0, keyLength);
            input.readFully(read, 0, valueLength);
        }
        return count;
    }

    private int nativeInt() throws IOException {
        int read = input.readInt();
        return REVERSED ? Integer.reverseBytes(read) : read;
    }

    private static int toPage(byte[] bytes, PageOutput output) throws IOException {
        output.clear();
        output.write(bytes, 0, bytes.length);
        return bytes.length;
    }

    @Override
    public void flush() throws IOException {
        Native.dbFlush(database);
    }

    @Override
    public void close() {
        keyPage.close();
        valuePage.close();
        Native.stateClose(state);
        Native.dbClose(database);
    }
}
