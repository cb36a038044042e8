package io.ferrostate.compatibility;

import java.util.concurrent.BlockingQueue;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;

/**
 * Passes on what its {@link Script} says until it is cancelled. A source of the new kind with its
 * readers and splits would be five classes.
 */
@SuppressWarnings("deprecation")
final class ScriptSource implements SourceFunction<Command> {

    private static final long serialVersionUID = 1L;
    private static final Command END = new Command();

    private final String script;
    private transient volatile boolean cancelled;
    private transient volatile BlockingQueue<Command> commands;

    ScriptSource(String script) {
        this.script = script;
    }

    @Override
    public void run(SourceContext<Command> context) throws Exception {
        commands = Script.of(script).attach();
        while (!cancelled) {
            Command command = commands.take();
            synchronized (context.getCheckpointLock()) {
                if (command.kind == Command.Kind.WATERMARK) {
                    context.emitWatermark(new Watermark(command.number));
                } else if (command != END) {
                    context.collect(command);
                }
            }
        }
    }

    @Override
    public void cancel() {
        cancelled = true;
        BlockingQueue<Command> waiting = commands;
        if (waiting != null) {
            waiting.add(END);
        }
    }
}
