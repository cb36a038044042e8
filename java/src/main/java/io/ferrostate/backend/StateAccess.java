package io.ferrostate.backend;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.Page;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;

import java.io.IOException;

/**
 * How the states of one backend reach its database: keys and values are serialized on the heap and
 * copied into pages, one for the key and one for the value; the calls carry lengths only. What the bytes mean is the states' business.
 *
 * <p>One value at a time: what {@link #get} read and what {@link #startValue} wrote shares a page. All
 * between building a key and the end of the call stands between {@link #enter} and {@link #exit}.
 */
public final class StateAccess<K> implements AutoCloseable {

    /** Entries a page of a scan at most, as many as Flink's RocksDB backend reads ahead. */
    public static final int SCAN_ENTRIES = 128;

    private static final int KEY_CAPACITY = 1 << 10;
    private static final int VALUE_CAPACITY = 1 << 12;
    private static final int SCAN_CAPACITY = 1 << 14;

    /** Buffers on the heap that grew beyond this are not kept. */
    private static final int KEEP_CAPACITY = 1 << 20;

    private final Page keyPage = new Page(KEY_CAPACITY);
    private final Page valuePage = new Page(VALUE_CAPACITY);
    private final Page scanPage = new Page(SCAN_CAPACITY);
    private final Page timerPage = new Page(KEY_CAPACITY);
    private final TypeSerializer<K> keySerializer;
    private final int numberOfKeyGroups;
    private final Texts texts = new Texts();
    private final KeyBuilder<K> keys;
    private final DataInputDeserializer valueInput = new DataInputDeserializer();
    private DataOutputSerializer valueOutput = new DataOutputSerializer(VALUE_CAPACITY);
    private byte[] valueBytes = new byte[VALUE_CAPACITY];

    private final UseGuard guard = new UseGuard();

    /** Length of the value read last. */
    private int valueLength;

    /** Of the key in the page: how many bytes all rows of its map share; 0 if it is none of a map. */
    private int mapPrefix;

    public StateAccess(TypeSerializer<K> keySerializer, int numberOfKeyGroups) {
        this.keySerializer = keySerializer;
        this.numberOfKeyGroups = numberOfKeyGroups;
        this.keys = new KeyBuilder<>(keySerializer, keyGroupBytes(), keyPage, texts);
    }

    public TypeSerializer<K> keySerializer() {
        return keySerializer;
    }

    public int numberOfKeyGroups() {
        return numberOfKeyGroups;
    }

    /** Bytes of the key group in front of each key. */
    public int keyGroupBytes() {
        return CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix(
                numberOfKeyGroups);
    }

    /** Begins a use of the pages; throws while another thread uses them and after the end. */
    public void enter() {
        guard.enter();
    }

    public void exit() {
        guard.exit();
    }

    /** Throws if this thread is in the middle of a use, in which nothing may be closed. */
    void checkNotInUse() {
        guard.checkNotInside();
    }

    // ---- keys: all return the length of the key that now lies in the key page -------------------

    public void setKey(K key, int keyGroup) throws IOException {
        guard.enter();
        try {
            keys.setKey(key, keyGroup);
        } finally {
            guard.exit();
        }
    }

    public void namespaceChanged(Object namespace) {
        keys.namespaceChanged(namespace);
    }

    /** The key of a row that belongs to no map, or the prefix of a map's rows. */
    public <N> int key(N namespace, TypeSerializer<N> serializer) throws IOException {
        mapPrefix = 0;
        return keys.build(namespace, serializer);
    }

    public <N, UK> int key(
            N namespace,
            TypeSerializer<N> serializer,
            UK userKey,
            TypeSerializer<UK> userKeySerializer)
            throws IOException {
        int length = keys.build(namespace, serializer, userKey, userKeySerializer);
        mapPrefix = keys.prefixLength();
        return length;
    }

    /** A copy of the key in the page. */
    public byte[] copyKey(int keyLength) {
        byte[] key = new byte[keyLength];
        keyPage.read(0, key, 0, keyLength);
        return key;
    }

    // ---- reading -------------------------------------------------------------------------------

    /** The value of the key in the page, or null; good until the next call. */
    public DataInputDeserializer get(Column column, int keyLength) throws IOException {
        valuePage.used(valueLength);
        int length = readValue(column, keyLength);
        while (length > valuePage.capacity()) {
            valuePage.ensureCapacity(length);
            length = readValue(column, keyLength);
        }
        if (length < 0) {
            valueLength = 0;
            return null;
        }
        valueLength = length;
        if (length > valueBytes.length || valueBytes.length > KEEP_CAPACITY) {
            valueBytes = new byte[Math.max(length, VALUE_CAPACITY)];
        }
        valuePage.read(0, valueBytes, 0, length);
        valueInput.setBuffer(valueBytes, 0, length);
        return valueInput;
    }

    /** Reads a piece of what {@link #get} returned. */
    public <T> T deserialize(DataInputDeserializer stored, TypeSerializer<T> serializer)
            throws IOException {
        return Texts.deserialize(stored, valueBytes, serializer);
    }

    private int readValue(Column column, int keyLength) throws IOException {
        return Native.get(
                column.handle(),
                keyPage.address(),
                keyLength,
                mapPrefix,
                valuePage.address(),
                valuePage.capacity());
    }

    public boolean contains(Column column, int keyLength) throws IOException {
        return Native.contains(column.handle(), keyPage.address(), keyLength, mapPrefix);
    }

    /** True if the map whose prefix lies in the page has rows. */
    public boolean mapHasRows(Column column, int keyLength) throws IOException {
        return Native.mapHasRows(column.handle(), keyPage.address(), keyLength);
    }

    // ---- writing -------------------------------------------------------------------------------

    /** Where the next value is to be written. */
    public DataOutputSerializer startValue() {
        if (valueOutput.getSharedBuffer().length > KEEP_CAPACITY) {
            valueOutput = new DataOutputSerializer(VALUE_CAPACITY);
        }
        valueOutput.clear();
        return valueOutput;
    }

    /** Writes a piece of the next value. */
    public <T> void serialize(T value, TypeSerializer<T> serializer, DataOutputSerializer out)
            throws IOException {
        texts.serialize(value, serializer, out);
    }

    /** Brings the written value into the page and returns its length. */
    private int copyValue() throws IOException {
        valuePage.used(valueLength);
        valueLength = valueOutput.length();
        valuePage.write(0, valueOutput.getSharedBuffer(), 0, valueLength);
        return valueLength;
    }

    /** Stores what was written since {@link #startValue}. */
    public void put(Column column, int keyLength) throws IOException {
        int length = copyValue();
        Native.put(
                column.handle(),
                keyPage.address(),
                keyLength,
                mapPrefix,
                valuePage.address(),
                length);
    }

    /** Appends what was written since {@link #startValue}. */
    public void merge(Column column, int keyLength) throws IOException {
        merge(column, keyLength, copyValue());
    }

    /** Appends the value that {@link #get} read last. */
    public void mergeValueRead(Column column, int keyLength) throws IOException {
        merge(column, keyLength, valueLength);
    }

    private void merge(Column column, int keyLength, int length) throws IOException {
        Native.merge(
                column.handle(), keyPage.address(), keyLength, valuePage.address(), length);
    }

    public void delete(Column column, int keyLength) throws IOException {
        Native.delete(column.handle(), keyPage.address(), keyLength, mapPrefix);
    }

    /** Has the filters of a map state's files know which maps they have rows of. */
    void filterMaps(Column column, TypeSerializer<?> namespaces) throws IOException {
        Native.mapFilter(column.handle(), keys.sharedByMap(namespaces));
    }

    /** Puts rows that were collected of the map whose prefix lies in the page. */
    public void putAll(Column column, int keyLength, MapRows rows) throws IOException {
        int length = rows.length();
        valuePage.used(valueLength);
        valueLength = length;
        valuePage.write(0, rows.bytes(), 0, length);
        Native.mapPutAll(
                column.handle(), keyPage.address(), keyLength, valuePage.address(), length);
    }

    /** Deletes the rows of the map whose prefix lies in the page. */
    public void clearMap(Column column, int keyLength) throws IOException {
        Native.mapClear(column.handle(), keyPage.address(), keyLength);
    }

    // ---- with keys from the heap: what an iterator kept -------------------------------------------

    /** Stores what was written since {@link #startValue} in a row of a map, whose key lies in an array. */
    public void putInMap(Column column, byte[] key, int offset, int length, int prefixLength)
            throws IOException {
        int valueLength = copyValue();
        scanPage.write(0, key, offset, length);
        Native.put(
                column.handle(),
                scanPage.address(),
                length,
                prefixLength,
                valuePage.address(),
                valueLength);
    }

    public void deleteInMap(Column column, byte[] key, int offset, int length, int prefixLength)
            throws IOException {
        scanPage.write(0, key, offset, length);
        Native.delete(column.handle(), scanPage.address(), length, prefixLength);
    }

    /**
     * Reads the rows of a map from a key on, see {@link Native#scan}.
     *
     * @param from key to start at; its first {@code prefixLength} bytes are the prefix.
     */
    public ScanPage scanMap(
            Column column, byte[] from, int offset, int length, int prefixLength, boolean afterFrom)
            throws IOException {
        valuePage.write(0, from, offset, length);
        int used = 0;
        do {
            scanPage.ensureCapacity(-(long) used);
            used =
                    Native.scan(
                            column.handle(),
                            valuePage.address(),
                            length,
                            prefixLength,
                            true,
                            afterFrom,
                            SCAN_ENTRIES,
                            scanPage.address(),
                            scanPage.capacity());
        } while (used < 0);
        ScanPage entries = ScanPage.copyOf(scanPage, used);
        scanPage.used(used);
        return entries;
    }

    // ---- timers: a queue of its own in the library -----------------------------------------------

    /** See {@link Native#timersAdd}. */
    public boolean addTimer(Column column, byte[] timer, int length) throws IOException {
        timerPage.write(0, timer, 0, length);
        return Native.timersAdd(column.handle(), timerPage.address(), length);
    }

    /** See {@link Native#timersRemove}. */
    public boolean removeTimer(Column column, byte[] timer, int length) throws IOException {
        timerPage.write(0, timer, 0, length);
        return Native.timersRemove(column.handle(), timerPage.address(), length);
    }

    /** See {@link Native#timersFirst}; the page has room for the timer. */
    public int firstTimer(Column column) throws IOException {
        return withRoom(
                column,
                Native.timersFirst(column.handle(), timerPage.address(), timerPage.capacity()));
    }

    /** See {@link Native#timersPoll}; the page has room for the next timer. */
    public int pollTimer(Column column) throws IOException {
        return withRoom(
                column,
                Native.timersPoll(column.handle(), timerPage.address(), timerPage.capacity()));
    }

    private int withRoom(Column column, int length) throws IOException {
        if (length <= timerPage.capacity()) {
            return length;
        }
        timerPage.ensureCapacity(length);
        return Native.timersFirst(column.handle(), timerPage.address(), timerPage.capacity());
    }

    /** What {@link #firstTimer} or {@link #pollTimer} left in the page. */
    public void readTimer(byte[] target, int length) {
        timerPage.read(0, target, 0, length);
        timerPage.used(length);
    }

    /** Waits for a use that is going on. */
    @Override
    public void close() {
        guard.close();
        keyPage.close();
        valuePage.close();
        scanPage.close();
        timerPage.close();
    }
}
