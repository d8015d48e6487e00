"""The phases of a workload that is learned: gathering, working, and emergencies with the way back from them."""

INITIALIZING, GATHERING, PARTLY_WORKING, WORKING, IN_EMERGENCY, BACK_TO_NORMAL = range(6)
# Before the first decision.
NO_PHASE = -1


def overall(gathering: bool, working: bool) -> int:
    """The phase of the whole: whether any of its resources is gathered, and whether any works."""
    if not gathering:
        return WORKING
    return PARTLY_WORKING if working else GATHERING


def is_unusual(phase: int) -> bool:
    """Whether there are more replicas than usual: in an emergency, and on the way back from one."""
    return phase in (IN_EMERGENCY, BACK_TO_NORMAL)


def next_phase(before: int, usual: int, asked: bool, scales: bool, reached: bool) -> int:
    """The next phase. `usual` is that of the resources; `asked`: whether there is a reason for an emergency.

    `scales`: whether replicas follow anything; `reached`: whether the minimum is back where it should be.
    """
    ready = usual in (WORKING, PARTLY_WORKING) or is_unusual(before)
    if scales and ready and asked:
        return IN_EMERGENCY
    if scales and is_unusual(before) and not reached:
        return BACK_TO_NORMAL
    return usual


def stepped_back(low: int, factor: float) -> int:
    """The minimum after one more step back from an emergency: lower by at least one."""
    return min(int(low * factor), low - 1)
