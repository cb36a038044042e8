package io.ferrostate.bench.door;

/** The two databases that are compared. Public for the code that JMH makes. */
public enum Engine {
    FERROSTATE,
    ROCKSDB
}
