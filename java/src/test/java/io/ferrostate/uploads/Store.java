package io.ferrostate.uploads;

import io.ferrostate.checkpoint.CheckpointFiles;

import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A checkpoint storage whose files are counted, hard links apart. Nothing in it is inline. */
final class Store {

    final CheckpointFiles files;

    Store(Path directory) throws IOException {
        files = new CheckpointFiles(directory, 0);
    }

    /** Each file with what tells it from all others, whatever its names. */
    Map<Path, Object> snapshot() throws IOException {
        Map<Path, Object> found = new HashMap<>();
        for (Path path : files.all()) {
            found.put(path, Files.readAttributes(path, "unix:ino").get("ino"));
        }
        return found;
    }

    /** What came since, and what the handles refer to of the rest. */
    Moved since(Map<Path, Object> before, List<KeyedStateHandle> handles) throws IOException {
        Set<Object> known = new HashSet<>(before.values());
        long uploaded = 0;
        long duplicated = 0;
        for (Map.Entry<Path, Object> file : snapshot().entrySet()) {
            if (before.containsKey(file.getKey())) {
                continue;
            }
            long size = Files.size(file.getKey());
            if (known.contains(file.getValue())) {
                duplicated += size;
            } else {
                uploaded += size;
            }
        }
        long referred = 0;
        long checkpointedSize = 0;
        for (KeyedStateHandle handle : handles) {
            checkpointedSize += handle.getCheckpointedSize();
            referred +=
                    ((IncrementalRemoteKeyedStateHandle) handle)
                            .streamSubHandles()
                            .filter(PlaceholderStreamStateHandle.class::isInstance)
                            .mapToLong(StreamStateHandle::getStateSize)
                            .sum();
        }
        return new Moved(uploaded, duplicated, referred, checkpointedSize);
    }
}
