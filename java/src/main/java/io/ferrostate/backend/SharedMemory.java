package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.jni.Native;

import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.memory.OpaqueMemoryResource;
import org.apache.flink.runtime.memory.SharedResources;
import org.apache.flink.util.function.LongFunctionWithException;

import java.io.IOException;

/**
 * Block cache and write buffers that the databases of a slot (or of a TaskManager) share. Flink
 * counts who uses them and closes them after the last one.
 */
public final class SharedMemory implements AutoCloseable {

    private static final String MANAGED = "state-ferrostate-managed-memory";
    private static final String PER_SLOT = "state-ferrostate-fixed-slot-memory";

    /** In a job's jar each class loader has a library, and so a memory, of its own. */
    private static final String PER_TASK_MANAGER =
            "state-ferrostate-fixed-tm-memory-"
                    + System.identityHashCode(SharedMemory.class.getClassLoader());

    private final long handle;

    private SharedMemory(long bytes, double writeBufferRatio) {
        this.handle = Native.memoryOpen(bytes, writeBufferRatio);
    }

    public long handle() {
        return handle;
    }

    @Override
    public void close() {
        Native.memoryClose(handle);
    }

    /** A share of what is configured, or null when each database is to have caches of its own. */
    public static OpaqueMemoryResource<SharedMemory> acquire(
            OptionSet options, Environment env, double managedMemoryFraction) throws IOException {
        double ratio = options.get(FerrostateOptions.WRITE_BUFFER_RATIO);
        LongFunctionWithException<SharedMemory, Exception> allocate =
                bytes -> new SharedMemory(bytes, ratio);
        MemorySize perSlot = options.get(FerrostateOptions.FIX_PER_SLOT_MEMORY_SIZE);
        try {
            if (perSlot != null) {
                return env.getMemoryManager()
                        .getExternalSharedMemoryResource(PER_SLOT, allocate, perSlot.getBytes());
            }
            if (options.get(FerrostateOptions.USE_MANAGED_MEMORY)) {
                return env.getMemoryManager()
                        .getSharedMemoryResourceForManagedMemory(
                                MANAGED, allocate, managedMemoryFraction);
            }
            return perTaskManager(env, allocate);
        } catch (Exception e) {
            throw new IOException(
                    "Failed to acquire the memory that the databases of this slot share: "
                            + e.getMessage(),
                    e);
        }
    }

    private static OpaqueMemoryResource<SharedMemory> perTaskManager(
            Environment env, LongFunctionWithException<SharedMemory, Exception> allocate)
            throws Exception {
        MemorySize size =
                OptionSet.read(
                                FerrostateOptions.FIX_PER_TM_MEMORY_SIZE,
                                env.getTaskManagerInfo().getConfiguration())
                        .orElse(MemorySize.ZERO);
        if (size.getBytes() <= 0) {
            return null;
        }
        SharedResources resources = env.getSharedResources();
        Object lease = new Object();
        SharedResources.ResourceAndSize<SharedMemory> shared =
                resources.getOrAllocateSharedResource(
                        PER_TASK_MANAGER, lease, allocate, size.getBytes());
        return new OpaqueMemoryResource<>(
                shared.resourceHandle(),
                shared.size(),
                () -> resources.release(PER_TASK_MANAGER, lease, ignored -> {}));
    }
}
