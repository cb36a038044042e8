package org.apache.flink.state.rocksdb;

import io.ferrostate.flinktests.RedirectedBackendFactory;

/** Stands before Flink's class of this name on the class path: tests that say rocksdb get Ferrostate. */
public class EmbeddedRocksDBStateBackendFactory extends RedirectedBackendFactory {}
