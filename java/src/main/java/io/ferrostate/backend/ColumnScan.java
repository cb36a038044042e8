package io.ferrostate.backend;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.Page;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Reads all rows of a map at once, from any thread and with pages of its own (queries). */
public final class ColumnScan {

    private static final int CAPACITY = 1 << 14;

    private ColumnScan() {}

    public static List<ScanPage> pagesOf(Column column, byte[] prefix) throws IOException {
        List<ScanPage> pages = new ArrayList<>();
        try (Page key = new Page(Math.max(CAPACITY, prefix.length));
                Page page = new Page(CAPACITY)) {
            byte[] from = prefix;
            int offset = 0;
            int length = prefix.length;
            ScanPage last;
            do {
                key.write(0, from, offset, length);
                last = read(column, key, length, prefix.length, !pages.isEmpty(), page);
                pages.add(last);
                // Walking to the last entry gives the key to go on after; readers start over.
                ScanPage walker = new ScanPage(last.bytes());
                while (walker.next()) {
                    from = walker.bytes();
                    offset = walker.keyOffset();
                    length = walker.keyLength();
                }
            } while (last.more() && !last.isEmpty());
        }
        return pages;
    }

    private static ScanPage read(
            Column column, Page key, int length, int prefixLength, boolean after, Page page)
            throws IOException {
        int used = 0;
        do {
            page.ensureCapacity(-(long) used);
            used =
                    column.call(
                            state ->
                                    Native.scan(
                                            state,
                                            key.address(),
                                            length,
                                            prefixLength,
                                            true,
                                            after,
                                            StateAccess.SCAN_ENTRIES,
                                            page.address(),
                                            page.capacity()));
        } while (used < 0);
        return ScanPage.copyOf(page, used);
    }
}
