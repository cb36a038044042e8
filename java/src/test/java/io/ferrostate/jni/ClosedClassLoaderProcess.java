package io.ferrostate.jni;

import java.util.Arrays;

/** The process of {@link ClosedClassLoaderTest}: natives that fail, and what crosses the door besides. */
public final class ClosedClassLoaderProcess {

    private ClosedClassLoaderProcess() {}

    /** As Flink's, once the job that it belongs to has gone. */
    private static final class Closed extends ClassLoader {

        private Closed() {
            super(null);
        }

        @Override
        public Class<?> loadClass(String name) {
            throw new IllegalStateException("Trying to access closed classloader.");
        }
    }

    /** A native that fails. */
    private interface Call {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        boolean fromTheStart = Boolean.parseBoolean(arguments[0]);
        if (!fromTheStart) {
            NativeLibrary.load();
        }
        Thread.currentThread().setContextClassLoader(new Closed());
        NativeLibrary.load();
        String directory = arguments[1];
        long ledger = Native.ledgerOpen();
        say(() -> Native.dbCompact(0));
        say(() -> Native.ledgerRecord(ledger, 1, null));
        say(() -> Native.directoryClaim("/proc/no such directory"));
        System.out.println(Arrays.toString(Native.directorySweep(directory)));
        Native.ledgerRecord(ledger, 1, new String[] {"1.sst", "7", "id", "uploaded", "plain"});
        Native.ledgerClose(ledger);
        System.out.println("end");
    }

    private static void say(Call call) throws Exception {
        try {
            call.run();
            System.out.println("nothing thrown");
        } catch (Exception thrown) {
            System.out.println(thrown.getClass().getSimpleName());
        }
    }
}
