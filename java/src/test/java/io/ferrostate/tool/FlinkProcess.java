package io.ferrostate.tool;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.entrypoint.ClusterEntrypoint;
import org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint;
import org.apache.flink.runtime.taskexecutor.TaskExecutorResourceUtils;
import org.apache.flink.runtime.taskexecutor.TaskManagerRunner;

/**
 * A program: a job manager or a task manager, for a test that kills it. Arguments: which, and its
 * options, each key=value.
 */
public final class FlinkProcess {

    static final String JOB_MANAGER = "job-manager";
    static final String TASK_MANAGER = "task-manager";

    private FlinkProcess() {}

    public static void main(String[] arguments) {
        Configuration configuration = new Configuration();
        for (int at = 1; at < arguments.length; at++) {
            String[] pair = arguments[at].split("=", 2);
            configuration.setString(pair[0], pair[1]);
        }
        if (arguments[0].equals(JOB_MANAGER)) {
            ClusterEntrypoint.runClusterEntrypoint(
                    new StandaloneSessionClusterEntrypoint(configuration));
        } else {
            TaskManagerRunner.runTaskManagerProcessSecurely(
                    TaskExecutorResourceUtils.adjustForLocalExecution(configuration));
        }
    }
}
