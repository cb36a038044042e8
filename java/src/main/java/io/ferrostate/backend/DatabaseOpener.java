package io.ferrostate.backend;

import java.io.File;
import java.io.IOException;

/** Opens a database with the options and the memory that this backend was configured with. */
@FunctionalInterface
public interface DatabaseOpener {

    Database open(File directory) throws IOException;
}
