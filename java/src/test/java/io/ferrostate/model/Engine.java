package io.ferrostate.model;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.TimerService;
import io.ferrostate.FerrostateStateBackend;

import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;

import java.nio.file.Path;
import java.util.Random;

/** The backends that are compared. */
enum Engine {
    FERROSTATE {
        @Override
        AbstractStateBackend create(Path directory, Random random) {
            return ferrostate(
                    directory,
                    random,
                    random.nextInt(4) == 0 ? TimerService.HEAP : TimerService.NATIVE);
        }
    },
    /** Always with timers in the database. */
    FERROSTATE_TIMERS {
        @Override
        AbstractStateBackend create(Path directory, Random random) {
            return ferrostate(directory, random, TimerService.NATIVE);
        }
    },
    HASHMAP {
        @Override
        AbstractStateBackend create(Path directory, Random random) {
            return new HashMapStateBackend();
        }
    };

    /** Some so small that they evict and write all the time. */
    private static final MemorySize[] BUFFERS = {
        MemorySize.parse("64mb"), MemorySize.parse("1b"), MemorySize.parse("32kb")
    };

    /** Draws what may differ from run to run. */
    abstract AbstractStateBackend create(Path directory, Random random);

    /** With buffers and files so small that much is flushed and compacted. */
    private static FerrostateStateBackend ferrostate(
            Path directory, Random random, TimerService timers) {
        return new FerrostateStateBackend(true)
                .set(FerrostateOptions.USE_MANAGED_MEMORY, random.nextInt(4) == 0)
                .setLocalDirectories(directory.toString())
                .set(FerrostateOptions.TIMER_SERVICE_FACTORY, timers)
                .set(FerrostateOptions.BUFFER_ENABLED, random.nextInt(4) != 0)
                .set(FerrostateOptions.BUFFER_SIZE, BUFFERS[random.nextInt(BUFFERS.length)])
                .set(FerrostateOptions.HASH_MEMTABLE, random.nextInt(4) != 0)
                .set(FerrostateOptions.TIMER_SERVICE_CACHE_SIZE, 1 + random.nextInt(20))
                .set(FerrostateOptions.WRITE_BUFFER_SIZE, MemorySize.parse("1mb"))
                .set(FerrostateOptions.TARGET_FILE_SIZE_BASE, MemorySize.parse("256kb"))
                .set(FerrostateOptions.MAX_SIZE_LEVEL_BASE, MemorySize.parse("1mb"));
    }
}
