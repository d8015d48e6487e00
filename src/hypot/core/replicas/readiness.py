"""When a pod's cpu sample may be used. Times are in seconds; all comparisons are strict."""


def cpu_unready(
    ready_false: bool,
    transition: float,
    start: float,
    sample_at: float,
    sample_window: float,
    now: float,
    cpu_period: float,
    readiness_delay: float,
) -> bool:
    """Whether a pod with a Ready condition and a start time is still too young for its cpu usage to be used."""
    if start + cpu_period > now:
        return ready_false or sample_at < transition + sample_window
    return ready_false and start + readiness_delay > transition
