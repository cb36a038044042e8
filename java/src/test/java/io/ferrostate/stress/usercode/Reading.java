package io.ferrostate.stress.usercode;

import java.util.Objects;

/** A POJO of the user: Flink reads its fields by reflection and remembers them. */
public class Reading {
    public String sensor;
    public double value;
    public long[] times;

    public Reading() {}

    Reading(String sensor, double value, long time) {
        this.sensor = sensor;
        this.value = value;
        this.times = new long[] {time};
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Reading && ((Reading) other).sensor.equals(sensor);
    }

    @Override
    public int hashCode() {
        return Objects.hashCode(sensor);
    }
}
