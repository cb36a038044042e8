package io.ferrostate.uploads;

/** How the bytes of one checkpoint came to the store; of all its subtasks together. Values only. */
final class Moved {

    /** Written into new files. */
    final long uploaded;

    /** In new names of files that the store had. */
    final long duplicated;

    /** In files of earlier checkpoints. */
    final long referred;

    /** Of the subtasks, as Flink shows it. */
    final long checkpointedSize;

    Moved(long uploaded, long duplicated, long referred, long checkpointedSize) {
        this.uploaded = uploaded;
        this.duplicated = duplicated;
        this.referred = referred;
        this.checkpointedSize = checkpointedSize;
    }

    @Override
    public String toString() {
        return String.format(
                "uploaded %d, duplicated %d, referred %d, checkpointed size %d",
                uploaded, duplicated, referred, checkpointedSize);
    }
}
