// Nothing of its own: only the archive that librocksdb-sys compiles is wanted.
