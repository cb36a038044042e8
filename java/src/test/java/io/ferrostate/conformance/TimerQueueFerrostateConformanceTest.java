package io.ferrostate.conformance;

import io.ferrostate.FerrostateStateBackend;

import org.apache.flink.runtime.state.AbstractStateBackend;

import java.nio.file.Path;

/** Flink's tests of a timer queue on Ferrostate's, as it is by default. */
class TimerQueueFerrostateConformanceTest extends TimerQueueConformance {

    @Override
    AbstractStateBackend stateBackend(Path localDirectory) {
        return new FerrostateStateBackend().setLocalDirectories(localDirectory.toString());
    }
}
