package io.ferrostate.model;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;

import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;

import java.nio.file.Path;

/** The backends that are compared. */
enum Engine {
    /** With buffers and files so small that much is flushed and compacted. */
    FERROSTATE {
        @Override
        AbstractStateBackend create(Path directory) {
            return new FerrostateStateBackend(true)
                    .setLocalDirectories(directory.toString())
                    .set(FerrostateOptions.WRITE_BUFFER_SIZE, MemorySize.parse("1mb"))
                    .set(FerrostateOptions.TARGET_FILE_SIZE_BASE, MemorySize.parse("256kb"))
                    .set(FerrostateOptions.MAX_SIZE_LEVEL_BASE, MemorySize.parse("1mb"));
        }
    },
    HASHMAP {
        @Override
        AbstractStateBackend create(Path directory) {
            return new HashMapStateBackend();
        }
    };

    abstract AbstractStateBackend create(Path directory);
}
