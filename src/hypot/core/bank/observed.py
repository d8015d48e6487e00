"""One observation from whole numbers, as pods and their samples give them."""

from hypot.core.bank.rule import BYTE_PRICE, UNKNOWN, ObservedLoad


def observed_of(
    pods: int,
    used: int,
    requests: int,
    caps: int,
    rate: int,
    late: int,
    at: float,
    window: float,
    replicas: int,
    ready: int,
    cpu: int,
    base: int,
    limit: int,
    memory: int,
    memory_used: int,
    memory_limits: int,
    restarted: float,
) -> ObservedLoad:
    """The sums are over the measured pods, in milli-units; a negative rate is unknown, a negative limit unlimited.

    `cpu` and `memory` are the requests of the largest pod; `base` and `limit` are those of the pod template, whose
    ratio is kept. `memory_used` and `memory_limits` are bytes of the measured pods, 0 if not known of all of them.
    """
    count = max(1, pods)
    return ObservedLoad(
        known=pods > 0,
        at=at,
        window=window,
        replicas=replicas,
        ready=ready,
        use=used / 1000.0 / count,
        cap=max(1, caps) / 1000.0 / count,
        request=requests / 1000.0 / count,
        rate=rate / 1000.0 / count if rate >= 0 else UNKNOWN,
        late=late / 1000.0 / count if late >= 0 else UNKNOWN,
        cpu=cpu,
        ratio=max(1.0, limit / base) if limit >= 0 and base > 0 else 1.0,
        memory_price=memory * BYTE_PRICE,
        filled=memory_used / memory_limits if memory_limits > 0 else 0.0,
        restarted=restarted,
    )
