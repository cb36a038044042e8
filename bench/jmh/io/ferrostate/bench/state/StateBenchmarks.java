package io.ferrostate.bench.state;

import io.ferrostate.bench.measure.Child;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * {@code bench/run state}: the operations of the state API on every backend, in turns in one run, as
 * ratios. Each contender's cases of one group run in a JVM of their own.
 */
public final class StateBenchmarks {

    private final Arguments arguments;
    private final StateReport report = new StateReport();

    private StateBenchmarks(Arguments arguments) {
        this.arguments = arguments;
    }

    public static void main(String[] args) throws Exception {
        new StateBenchmarks(Arguments.parse(args)).run();
    }

    private void run() throws IOException, InterruptedException {
        Files.createDirectories(arguments.scratch);
        for (int round = 1; round <= arguments.rounds; round++) {
            for (Group group : Group.of(arguments.full)) {
                if (!arguments.only.matcher(group.title()).find()) {
                    continue;
                }
                for (Contender contender : arguments.contenders) {
                    System.err.printf(
                            "round %d of %d: %s: %s%n",
                            round, arguments.rounds, group.title(), contender.title);
                    measure(group, contender);
                }
            }
        }
        if (report.isEmpty()) {
            throw new IllegalArgumentException("No group is called " + arguments.only);
        }
        String text = report.text(arguments.rounds);
        Files.write(arguments.report, text.getBytes(StandardCharsets.UTF_8));
        System.out.print(text);
        System.out.println("written to " + arguments.report);
    }

    private void measure(Group group, Contender contender)
            throws IOException, InterruptedException {
        // What keeps a part of a large state in memory has to find out first which part.
        String warmups = group.space.isLarge() ? "8" : "2";
        List<String> run =
                arguments.full ? List.of("3", "5", "1000") : List.of(warmups, "3", "200");
        Child.run(
                        arguments.jvm,
                        CaseRunner.class,
                        arguments.scratch,
                        group.type.getName(),
                        arguments.cases,
                        contender.name(),
                        group.space.name(),
                        Boolean.toString(arguments.full),
                        run.get(0),
                        run.get(1),
                        run.get(2))
                .forEach(result -> report.add(group, contender, result));
    }

    /** What bench/run passes. */
    private static final class Arguments {

        private boolean full;
        private int rounds = 1;
        private Pattern only = Pattern.compile("");
        private String cases = ".*";
        private Set<Contender> contenders = EnumSet.allOf(Contender.class);
        private Path report = Path.of("state.txt");
        private Path scratch = Path.of("scratch");
        private final List<String> jvm = new ArrayList<>(List.of("-Xmx4g", "-XX:+UseG1GC"));

        static Arguments parse(String[] args) {
            Arguments arguments = new Arguments();
            for (String arg : args) {
                String[] parts = arg.split("=", 2);
                arguments.set(parts[0], parts.length > 1 ? parts[1] : "");
            }
            return arguments;
        }

        private void set(String name, String value) {
            switch (name) {
                case "quick":
                    break;
                case "full":
                    full = true;
                    rounds = 3;
                    break;
                case "--rounds":
                    rounds = Integer.parseInt(value);
                    break;
                case "--only":
                    only = Pattern.compile(value);
                    break;
                case "--cases":
                    cases = value;
                    break;
                case "--contenders":
                    contenders = Contender.parse(value);
                    break;
                case "--report":
                    report = Path.of(value);
                    break;
                case "--scratch":
                    scratch = Path.of(value);
                    break;
                case "--jvm":
                    jvm.add(value);
                    break;
                default:
                    throw new IllegalArgumentException(
                            name
                                    + ": use quick, full, --rounds=N, --only=<regex of groups>,"
                                    + " --cases=<regex> or --contenders=FERROSTATE,ROCKSDB");
            }
        }
    }
}
