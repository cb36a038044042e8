package io.ferrostate.tool;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.taskexecutor.TaskExecutorResourceUtils;
import org.apache.flink.runtime.taskexecutor.TaskManagerRunner;

/** A program: a task manager, for a test that kills it. Arguments: its options, each key=value. */
public final class TaskManagerProcess {

    private TaskManagerProcess() {}

    public static void main(String[] arguments) {
        Configuration configuration = new Configuration();
        for (String option : arguments) {
            String[] pair = option.split("=", 2);
            configuration.setString(pair[0], pair[1]);
        }
        TaskManagerRunner.runTaskManagerProcessSecurely(
                TaskExecutorResourceUtils.adjustForLocalExecution(configuration));
    }
}
