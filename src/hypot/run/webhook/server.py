"""The webhook that sizes new pods: a separate TLS listener, whose certificate can change while it listens."""

import time
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate

from aiohttp import web

from hypot.kinds.vpa.knobs import Knobs
from hypot.run.webhook.admission import LARGEST_BODY, BadReviewError, Find, LimitRangesOf, MayShrink, always, review
from hypot.run.webhook.registration import PATH
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.listener import Limits, Listener
from hypot.serving.logs import RareLine

# The API server keeps an idle connection for 90 s. The webhook must not close it first, or a review may fail.
# It waits 2 s for an answer, so a slower body is of no use. A usual review has 10 KiB; 12 MiB are four of the largest.
LIMITS = Limits(
    connections=64,
    kept_for=120.0,
    body=LARGEST_BODY,
    bodies=12 << 20,
    body_within=4.0,
    stop_within=2.0,
)
# Of the name of a namespace. A review that is not from the API server may have any.
LONGEST_NAME = 63


class Times:
    """A histogram of answer times, as /metrics exposes it."""

    BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)

    def __init__(self) -> None:
        # One more than bounds: answers that took longer than the last bound.
        self.counts = [0] * (len(self.BOUNDS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(self.BOUNDS, seconds)] += 1
        self.total += seconds

    @property
    def count(self) -> int:
        return sum(self.counts)

    def cumulative(self) -> list[tuple[float, int]]:
        """For each bound, how many answers took at most that long."""
        return list(zip(self.BOUNDS, accumulate(self.counts), strict=False))


class Webhook:
    """Answers AdmissionReviews at /mutate. `find` and `limit_ranges_of` read only cached objects and never wait.

    `may_shrink`: whether a new pod may be smaller than its manifest says; called for every pod.
    """

    def __init__(
        self,
        find: Find,
        limit_ranges_of: LimitRangesOf,
        *,
        knobs: Knobs | None = None,
        may_shrink: MayShrink = always,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._find, self._limit_ranges_of, self._knobs, self._clock = find, limit_ranges_of, knobs or Knobs(), clock
        self._may_shrink = may_shrink
        self._listener = Listener(self._answer, LIMITS)
        self._left = RareLine("pod left as it is")
        self.times = Times()
        self.answered = self.patched = self.refused = 0

    async def start(self, host: str, port: int, certificate: CertificateHolder) -> None:
        """Listen; port 0 means any free port."""
        await self._listener.start(host, port, certificate.context)

    async def stop(self) -> None:
        """Answer the requests that are complete, then close."""
        await self._listener.stop()

    @property
    def port(self) -> int:
        """The port it listens on; 0 if it does not listen."""
        return self._listener.port

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.path != PATH:
            return web.Response(status=404, text=f"not found; reviews are answered at {PATH}\n")
        if request.method != "POST":
            return web.Response(status=405, text="only POST is allowed\n", headers={"Allow": "POST"})
        return await self._mutate(request)

    async def _mutate(self, request: web.BaseRequest) -> web.Response:
        began = self._clock()
        try:
            body = await self._listener.body(request)
            done = review(body, self._find, self._limit_ranges_of, self._knobs, self._may_shrink)
        except BadReviewError as error:
            self.refused += 1
            return web.Response(status=400, text=str(error))
        if done.error:
            self._left.log(namespace=done.namespace[:LONGEST_NAME], error=done.error)
        self.answered += 1
        self.patched += done.patched
        self.times.observe(self._clock() - began)
        return web.Response(body=done.body, content_type="application/json")
