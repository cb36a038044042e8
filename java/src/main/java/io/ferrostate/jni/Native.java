package io.ferrostate.jni;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The JNI door: every native method of the library, and nothing else. Not an API for users and not
 * the place for logic: {@link NativeLibrary#load()} must have run before any of them is called.
 *
 * <p>Handles are opaque positive longs. The caller closes each of them exactly once and never uses
 * it afterwards; 0 is refused with {@link IllegalStateException}. Addresses point into a {@link
 * Page}; lengths and capacities are bytes. Failures arrive as {@link FerrostateException} (an
 * IOException with a kind), {@link IllegalArgumentException}, {@link IllegalStateException} or
 * {@link java.util.concurrent.CancellationException}; a panic in the library is a
 * FerrostateException of kind PANIC and closes the database it happened in for further use.
 *
 * <p>Threads: page, state and cursor calls belong to one thread at a time; everything else may be
 * called from any thread.
 */
public final class Native {

    private Native() {}

    // ---- process ---------------------------------------------------------------------------

    /**
     * Checks that jar and library are of the same version and registers all other methods. The only
     * symbol that the library exports.
     *
     * @return what the library is: version, RocksDB version, link mode ("static" or "fast lane").
     */
    static native String init(String jarVersion);

    /** Number of handles open in this process, of all kinds. Zero when every backend is disposed. */
    public static native long liveHandles();

    /** Takes up to {@code max} log records out of the bounded queue: {@code LEVEL\ttarget\ttext}. */
    public static native String[] drainLog(int max);

    /** Treats values of more bytes as too large for Java; -1: what really is. For tests. */
    static native void limitValues(int bytes);

    // ---- page: memory that both sides see ---------------------------------------------------

    static native long pageOpen(int capacity);

    /** A direct view of the page; dead after {@link #pageResize} and {@link #pageClose}. */
    static native ByteBuffer pageBuffer(long page);

    static native void pageResize(long page, int capacity);

    static native void pageClose(long page);

    // ---- memory: block cache and write buffer manager of one slot's share ---------------------

    /** Splits {@code bytes} into block cache and write buffers as Flink does (compatibility D4). */
    public static native long memoryOpen(long bytes, double writeBufferRatio);

    /** Bytes: capacity of the cache, its usage, its pinned usage, usage of the memtables, of the write buffers. */
    public static native long[] memoryUsage(long memory);

    public static native void memoryClose(long memory);

    // ---- db -----------------------------------------------------------------------------------

    /**
     * Opens the database in {@code directory} (created when absent) with all its column families.
     *
     * @param options alternating key and value; keys are those of FerrostateOptions without prefix.
     * @param memory handle from {@link #memoryOpen}, or 0 for caches of its own.
     */
    public static native long dbOpen(String directory, String[] options, long memory)
            throws IOException;

    /** Names of the column families, without {@code default}, in no particular order. */
    public static native String[] dbColumns(long db) throws IOException;

    /** RocksDB property of a state's column family, or of the database when state is 0; or null. */
    public static native String dbProperty(long db, long state, String name) throws IOException;

    /** Writes the memtables of all column families to SST files. For tests and tools. */
    public static native void dbFlush(long db) throws IOException;

    /** Compacts everything. For tests and tools. */
    public static native void dbCompact(long db) throws IOException;

    /** Hard-links a consistent set of files into {@code directory}, which must not exist yet. */
    public static native void dbCheckpoint(long db, String directory) throws IOException;

    /** Panics inside the library on this database. For tests of what follows. */
    static native void dbPanic(long db) throws IOException;

    /**
     * Ends background work without flushing and refuses all further use through states and cursors.
     * The files stay.
     */
    public static native void dbClose(long db);

    // ---- state: one column family ---------------------------------------------------------------

    /** Opens the column family {@code name}, created when absent. "default" is refused. */
    public static native long stateOpen(long db, String name) throws IOException;

    /** Drops the column family with its data and closes the handle. */
    public static native void stateDrop(long state) throws IOException;

    public static native void stateClose(long state);

    /**
     * Reads into the page at {@code value}.
     *
     * @param mapPrefix bytes at the front of the key that all rows of its map share; 0 for what is no
     *     row of a map. A state has either the one or the other, and the write buffer keeps the rows of a
     *     map together. Likewise below.
     * @return length of the value, -1 when absent. When larger than {@code valueCapacity} nothing
     *     useful was written: make room for that length and call again.
     */
    public static native int get(
            long state, long key, int keyLength, int mapPrefix, long value, int valueCapacity)
            throws IOException;

    /** True if the key exists. */
    public static native boolean contains(long state, long key, int keyLength, int mapPrefix)
            throws IOException;

    public static native void put(
            long state, long key, int keyLength, int mapPrefix, long value, int valueLength)
            throws IOException;

    /** Appends an operand ({@code stringappendtest}: joined by ','). */
    public static native void merge(
            long state, long key, int keyLength, long value, int valueLength) throws IOException;

    public static native void delete(long state, long key, int keyLength, int mapPrefix)
            throws IOException;

    /** True if a map has rows: if a key with this prefix exists. */
    public static native boolean mapHasRows(long state, long prefix, int prefixLength)
            throws IOException;

    /**
     * Tells that all rows of a map share at least so many bytes: filters of files written from now on
     * know whether they have a map. Only the first call of a state counts. Takes milliseconds.
     */
    public static native void mapFilter(long state, int prefixLength) throws IOException;

    /**
     * Puts rows of a map, in their order: length of the user key and of the value (four bytes each, the
     * highest first), user key, value. Those in front of one that fails are put.
     */
    public static native void mapPutAll(
            long state, long prefix, int prefixLength, long rows, int rowsLength)
            throws IOException;

    /** Deletes the rows of a map: every key with this prefix. */
    public static native void mapClear(long state, long prefix, int prefixLength)
            throws IOException;

    /**
     * Fills a page with the entries whose keys share the first {@code prefixLength} bytes of {@code
     * from}, in byte order, from {@code from} on. No native iterator outlives the call.
     *
     * <p>Page: {@code int count, int more (1 or 0)}, then per entry {@code int keyLength, int
     * valueLength, key, value}; ints in native byte order, nothing aligned.
     *
     * @param ofMap true if the prefix is that of a map's rows.
     * @param afterFrom true to leave out the key {@code from} itself (to go on after it).
     * @param maxEntries at most so many entries a page.
     * @return bytes used; or, when the first entry does not fit, minus the capacity it needs.
     */
    public static native int scan(
            long state,
            long from,
            int fromLength,
            int prefixLength,
            boolean ofMap,
            boolean afterFrom,
            int maxEntries,
            long page,
            int capacity)
            throws IOException;

    /** Reads a row of no map with arrays, from any thread (queryable state). Null when absent. */
    public static native byte[] getArray(long state, byte[] key) throws IOException;

    // ---- time to live: what compactions drop --------------------------------------------------------

    /** {@link #ttlConfigure}: nothing expires; a timestamp in front; behind a null flag; per element. */
    public static final int TTL_DISABLED = 0;

    public static final int TTL_VALUE = 1;
    public static final int TTL_MAP = 2;
    public static final int TTL_LIST = 3;

    /**
     * Sets by which rule compactions of a state that begin from now on drop expired values. It
     * replaces the former one; a state begins with {@link #TTL_DISABLED} whenever its database is opened.
     *
     * @param ttlMillis larger than 0; a value expires that long after its timestamp.
     * @param queryTimeAfterNumEntries values that a compaction looks at between two looks at the clock.
     * @param elementLayout for lists: how long an element is, see TtlElementLayout; null when the
     *     library cannot know, then lists stay whole.
     * @param compactEverySeconds files older than this are compacted even without need; 0: never;
     *     -1: as the database was opened with.
     */
    public static native void ttlConfigure(
            long state,
            int kind,
            long ttlMillis,
            long queryTimeAfterNumEntries,
            byte[] elementLayout,
            long compactEverySeconds)
            throws IOException;

    /**
     * Says what time it is for {@link #ttlConfigure}, until it is called again. Nothing expires before
     * the first call of this or of {@link #ttlSystemTime}.
     */
    public static native void ttlTime(long db, long millis) throws IOException;

    /** From now on it is the time of {@link System#currentTimeMillis()}, read when needed. */
    public static native void ttlSystemTime(long db) throws IOException;

    // ---- cursor: a long scan of a whole column family as it was when opened -----------------------

    /** {@code keysOnly}: values are left out of the pages (length 0). */
    public static native long cursorOpen(long state, boolean keysOnly) throws IOException;

    /** Same page and result as {@link #scan}; count 0 at the end. */
    public static native int cursorNext(long cursor, long page, int capacity) throws IOException;

    public static native void cursorClose(long cursor);

    // ---- bulk load: sorted rows become files that join a column family in one step ------------------

    /**
     * Begins a bulk load. Its files lie in a directory beside the database, which goes with the handle.
     */
    public static native long sstOpen(long state) throws IOException;

    /**
     * Adds the entries of a page ({@link #scan}'s layout, "more" is ignored). Keys ascend strictly, over
     * all pages. After a failure the load can only be closed.
     */
    public static native void sstAdd(long load, long page, int used) throws IOException;

    /**
     * Makes the rows added so far part of the column family, all or none; they replace rows with the
     * same keys. Until then the column family is as it was. Nothing may write to it meanwhile.
     */
    public static native void sstIngest(long load) throws IOException;

    /** Gives up what was not ingested. */
    public static native void sstClose(long load);

    // ---- timers: rows with empty values, in a queue of their own ---------------------------------

    /**
     * Makes a state a queue of timers. From then on the library has the last word about its rows until
     * somebody looks at the database, which it then brings up to date itself.
     *
     * <p>A timer is the key of a row: {@code keyGroupBytes} bytes that are the number of its key group, big
     * endian, and bytes whose order is that of the timers. Of several key groups the one whose first timer
     * has the smallest eight bytes comes first.
     *
     * @param empty the state has no rows.
     * @param ahead so many timers of each key group may be in memory at least.
     */
    public static native void timersOpen(
            long state,
            int firstKeyGroup,
            int keyGroups,
            int keyGroupBytes,
            boolean empty,
            int ahead)
            throws IOException;

    /** Adds a timer unless it is there already; true if it is the first one now. */
    public static native boolean timersAdd(long state, long timer, int length) throws IOException;

    /** Removes a timer if it is there; true if it was the first one. */
    public static native boolean timersRemove(long state, long timer, int length)
            throws IOException;

    /** Length of the first timer, which stands in the page if it fits; -1: there is none. */
    public static native int timersFirst(long state, long page, int capacity) throws IOException;

    /**
     * Removes the first timer if there is one, and answers as {@link #timersFirst}, or -2: that has to be
     * asked what comes next. After an exception the timer is still there.
     */
    public static native int timersPoll(long state, long page, int capacity) throws IOException;

    /** Number of timers, each of which is looked at. */
    public static native long timersCount(long state) throws IOException;

    /**
     * A cursor as {@link #cursorOpen} gives over the timers of a key group, without values; 0: it has
     * none.
     */
    public static native long timersCursor(long state, int keyGroup) throws IOException;

    // ---- cancel -------------------------------------------------------------------------------

    /** A flag that long calls look at; they end within seconds with CancellationException. */
    public static native long cancelOpen();

    public static native void cancelTrigger(long cancel);

    public static native void cancelClose(long cancel);

    // ---- checkpoint: plan and ledger (compatibility D6, D10) ----------------------------------------

    public static native long ledgerOpen();

    public static native void ledgerClose(long ledger);

    /**
     * Remembers the SST files of a checkpoint that was handed over but is not confirmed yet.
     *
     * @param rows five strings a file: local name, size, physical id of the handle, "uploaded" or
     *     "placeholder", "merged" or "plain" (file merging).
     */
    public static native void ledgerRecord(long ledger, long checkpointId, String[] rows);

    /** As {@link #ledgerRecord} for the checkpoint restored from, which counts as confirmed. */
    public static native void ledgerRestore(long ledger, long checkpointId, String[] rows);

    /**
     * Files that are private to the snapshot restored from: until a checkpoint is confirmed they are
     * copied where that is cheaper than an upload, and never referred to.
     *
     * @param rows as for {@link #ledgerRecord}.
     */
    public static native void ledgerLend(long ledger, String[] rows);

    /** notifyCheckpointComplete: ignores ids that were never recorded (savepoints) or are older. */
    public static native void ledgerConfirm(long ledger, long checkpointId);

    /** notifyCheckpointAborted: forgets that checkpoint's files. */
    public static native void ledgerAbort(long ledger, long checkpointId);

    /**
     * Freezes what may be reused now (sync part); give it to {@link #planSnapshot}. The checkpoint
     * counts as on its way until {@link #baseClose}: what it may be uploading, no other one reuses.
     */
    public static native long baseOpen(long ledger);

    /** That checkpoint uploads all its files, though others may have them (NO_CLAIM's first). */
    public static native void baseReusesNothing(long base);

    /** That snapshot is a savepoint's or the like: nobody will ever refer to its files. */
    public static native void baseConcernsNobody(long base);

    /** After the checkpoint was recorded or given up. */
    public static native void baseClose(long base);

    /**
     * Compares the files of a local checkpoint directory with the frozen base. Empty .log files are
     * left out.
     *
     * @param base handle from {@link #baseOpen}.
     * @param own the snapshot refers to nobody else's files.
     * @return six strings a file, largest first: local name, size, "sst" or "misc", "reuse", "copy" or
     *     "upload", physical id to reuse or to copy from, else "", "merged" or "plain".
     */
    public static native String[] planSnapshot(long base, boolean own, String localDirectory)
            throws IOException;

    // ---- transfer -----------------------------------------------------------------------------

    /** True if the library reaches this URI itself ({@code file:} so far). */
    public static native boolean storeReaches(String uri);

    /**
     * Copies local files to new, uniquely named objects under {@code targetDirectory} and makes them
     * durable. All or nothing: on failure or cancel whatever was written is deleted again.
     *
     * @param sources for each file the URI of an object with the same bytes, or "". Where the store can,
     *     the new object is made out of it; otherwise, or if it is gone, out of the local file.
     * @return two strings a file, in the order of {@code names}: its URI, spelled as {@code
     *     targetDirectory} + "/" + uuid, and "copied" (from its source) or "uploaded".
     */
    public static native String[] upload(
            String localDirectory,
            String[] names,
            String[] sources,
            String targetDirectory,
            long cancel)
            throws IOException;

    /**
     * Brings objects into a local directory (created when absent): *.sst by hard link where the
     * store is on the same local file system, else by copy. Each must have exactly its size.
     */
    public static native void download(
            String[] uris, long[] sizes, String localDirectory, String[] names, long cancel)
            throws IOException;

    // ---- restore ------------------------------------------------------------------------------

    /**
     * Copies the rows with {@code from <= key < to} of every column family of the database files in
     * {@code sourceDirectory} into {@code db}, creating column families as needed. {@code to} null:
     * no end.
     *
     * @param states the column families that the source must have, and no others.
     */
    public static native void copyRange(
            String sourceDirectory,
            long db,
            byte[] from,
            byte[] to,
            String[] states,
            long cancel)
            throws IOException;

    // ---- rescale: files of databases for other key groups become a new database ---------------------

    /** @param options those that the database is opened with later. */
    public static native long rescaleOpen(String[] options);

    /**
     * Adds a part: the wanted keys ({@code from <= key < to}; null: no end) of a database whose CURRENT
     * and MANIFEST are in {@code directory}. Parts have no keys in common.
     *
     * @param states the column families that the database must have, and no others.
     * @return the SST files that {@link #rescaleRun} needs there, and no others; null if files of this
     *     database cannot be imported (the log says why): then it is no part.
     */
    public static native String[] rescalePart(
            long rescale, String directory, byte[] from, byte[] to, String[] states)
            throws IOException;

    /**
     * Makes a database in {@code databaseDirectory}, which must not exist yet, out of the parts' files,
     * whose names in the parts' directories go. Keys outside of the wanted ranges are deleted.
     *
     * @param scratchDirectory for temporary databases; the caller deletes it.
     * @return three strings for each file of the new database that is a file of a part, unchanged: number
     *     of the part, name there, new name. Null if RocksDB refuses the files (the log says why): then
     *     nothing is left and the rows have to be copied.
     */
    public static native String[] rescaleRun(
            long rescale, String databaseDirectory, String scratchDirectory, long cancel)
            throws IOException;

    /**
     * What can only be done once the database is open. Deleted keys that still lie in files are compacted
     * away in the background; {@link #dbProperty} {@code ferrostate.is-settling} is 1 meanwhile, and
     * {@link #dbClose} ends it.
     */
    public static native void rescaleFinish(long rescale, long db, long cancel) throws IOException;

    public static native void rescaleClose(long rescale);

    // ---- local directories -----------------------------------------------------------------------

    /**
     * Creates {@code directory} and holds it as this process's for as long as the handle is open
     * (a lock that dies with the process).
     */
    public static native long directoryClaim(String directory) throws IOException;

    public static native void directoryRelease(long claim);

    /**
     * Deletes the sub-directories of {@code root} that were claimed once and whose owner is gone.
     *
     * @return the paths deleted.
     */
    public static native String[] directorySweep(String root) throws IOException;
}
