package io.ferrostate.examples;

/**
 * One flight as the job sees it. A plain POJO, so that Flink's PojoSerializer writes it. Holds data
 * only: parsing is {@link FlightsFile}'s job.
 */
public class Flight {

    /** Position in the file ordered by time; unique, and the tie-breaker of equal times. */
    public int row;

    /** Scheduled departure, milliseconds since the epoch: the event time. */
    public long time;

    public String carrier;
    public int number;

    /** Registration of the aircraft, or "" where the file has none. */
    public String aircraft;

    public String origin;
    public String destination;

    /** Miles. */
    public int distance;

    public boolean cancelled;

    /** Minutes; 0 for a cancelled flight. */
    public int departureDelay;

    public String route() {
        return origin + '-' + destination;
    }

    public String carrierAtOrigin() {
        return carrier + '@' + origin;
    }
}
