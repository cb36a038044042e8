package io.ferrostate.examples;

import java.io.PrintStream;

/**
 * Where the demo speaks: lines that stay, and a status. On a terminal the status is one line that
 * is overwritten; elsewhere it is a plain line every few seconds.
 */
final class Console {

    private static final long PLAIN_STATUS_NANOS = 5_000_000_000L;
    private static final String ERASE_LINE = "\r\033[K";

    private final PrintStream out;
    private final boolean isTerminal;
    private long lastStatus = System.nanoTime();

    Console(PrintStream out, boolean isTerminal) {
        this.out = out;
        this.isTerminal = isTerminal;
    }

    synchronized void line(String text) {
        out.println(isTerminal ? ERASE_LINE + text : text);
        out.flush();
        lastStatus = System.nanoTime();
    }

    synchronized void status(String text) {
        if (isTerminal) {
            out.print(ERASE_LINE + text);
            out.flush();
        } else if (System.nanoTime() - lastStatus > PLAIN_STATUS_NANOS) {
            line(text);
        }
    }
}
