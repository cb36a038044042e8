package io.ferrostate.savepoint;

import java.io.IOException;

/** The rows of one state in the order of their key groups, for a canonical savepoint. */
interface StateRows extends AutoCloseable {

    /** Goes to the next row; false at the end. */
    boolean next() throws IOException;

    /** Key of the row, with its key group in front; an array of its own. */
    byte[] key();

    byte[] value();

    @Override
    void close();
}
