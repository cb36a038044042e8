package io.ferrostate.bench.door;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;
import io.ferrostate.jni.Page;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Through io.ferrostate.jni.Native and its pages. */
final class FerrostateStore implements Store {

    private static final int CAPACITY = 1 << 14;
    private static final int SCAN_ENTRIES = 128;

    private final long database;
    private final long state;
    private final Page keyPage;
    private final Page valuePage;
    private final byte[] read = new byte[CAPACITY];
    private final ByteBuffer entries = ByteBuffer.wrap(read).order(ByteOrder.nativeOrder());
    private final byte[] row = new byte[CAPACITY];

    FerrostateStore(File directory) throws IOException {
        NativeLibrary.load();
        database = Native.dbOpen(directory.getPath(), new String[0], 0);
        state = Native.stateOpen(database, "state");
        keyPage = new Page(CAPACITY);
        valuePage = new Page(CAPACITY);
    }

    @Override
    public int get(byte[] key) throws IOException {
        int keyLength = toPage(key, keyPage);
        int length =
                Native.get(state, keyPage.address(), keyLength, 0, valuePage.address(), CAPACITY);
        if (length < 0) {
            return -1;
        }
        valuePage.read(0, read, 0, length);
        return read[0];
    }

    @Override
    public void put(byte[] key, byte[] value) throws IOException {
        int keyLength = toPage(key, keyPage);
        int valueLength = toPage(value, valuePage);
        Native.put(state, keyPage.address(), keyLength, 0, valuePage.address(), valueLength);
    }

    @Override
    public void merge(byte[] key, byte[] operand) throws IOException {
        int keyLength = toPage(key, keyPage);
        int valueLength = toPage(operand, valuePage);
        Native.merge(state, keyPage.address(), keyLength, valuePage.address(), valueLength);
    }

    @Override
    public int scan(byte[] prefix) throws IOException {
        int length = toPage(prefix, keyPage);
        int used =
                Native.scan(
                        state, keyPage.address(), length, length, false, false, SCAN_ENTRIES,
                        valuePage.address(), CAPACITY);
        valuePage.read(0, read, 0, used);
        entries.clear();
        int count = entries.getInt();
        if (entries.getInt() != 0) {
            throw new IOException("The benchmark's prefixes fit into one page.");
        }
        for (int i = 0; i < count; i++) {
            int keyLength = entries.getInt();
            int valueLength = entries.getInt();
            entries.get(row, 0, keyLength);
            entries.get(row, 0, valueLength);
        }
        return count;
    }

    private static int toPage(byte[] bytes, Page page) throws IOException {
        page.write(0, bytes, 0, bytes.length);
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
