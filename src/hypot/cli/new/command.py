"""hypot new: a checked manifest from a few words."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from hypot.authoring.words import interval_of, percentage_of, range_of, target_of, watermark_of
from hypot.cli.new.made import SharedOptions, Words, print_made, shared_options
from hypot.cli.options import Word
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.autoscaler.fields import AUTOSCALER_MODES, AXES, AutoscalerMode, Axes
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu as cpu_metric
from hypot.kinds.hpa.fields import memory as memory_metric
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import Change, ResourceChanges
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import UPDATE_MODES as TORTOISE_MODES
from hypot.kinds.tortoise.fields import TortoiseMode
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import UPDATE_MODES, ContainerPolicy, UpdateMode
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import BandMetric, band, resource_band

_MIN = click.option("--min", "low", type=int, metavar="N", help="Never fewer pods.")
_MAX = click.option("--max", "high", type=int, required=True, metavar="N", help="Never more pods.")


@click.group("new")
def command() -> None:
    """Print a checked manifest, for `kubectl apply -f -`.

    Every amount has a unit: 70% of the request, 500m of cpu, 512Mi of memory, 40/pod.
    """


@command.command("hpa")
@shared_options
@_MIN
@_MAX
@click.option("--cpu", metavar="70%|500m", help="Of the request, or per pod.")
@click.option("--memory", metavar="60%|512Mi", help="Of the request, or per pod.")
def new_hpa(
    shared: SharedOptions,
    low: int | None,
    high: int,
    cpu: str | None,
    memory: str | None,
) -> None:
    """Hold cpu or memory at a target, by the number of pods. Without either, Kubernetes holds cpu at 80 %."""
    words = Words("new hpa")
    ref = words.target(shared.target)
    targets = (
        (cpu_metric, words.read("--cpu", cpu, partial(target_of, "cpu"))),
        (memory_metric, words.read("--memory", memory, partial(target_of, "memory"))),
    )
    metrics: list[Any] = [function(**given) for function, given in targets if given is not None]
    with words.checked():
        made = HPA(
            ref,
            min_replicas=low,
            max_replicas=high,
            metrics=metrics or None,
            name=shared.name,
            namespace=shared.namespace,
        )
    print_made(made, shared.output)


@command.command("wpa")
@shared_options
@_MIN
@_MAX
@click.option("--metric", required=True, metavar="NAME|cpu|memory", help="An external metric, or a resource.")
@click.option("--low", "below", required=True, metavar="40/pod", help="Below, pods are removed: /pod or /total.")
@click.option("--high", "above", required=True, metavar="50/pod", help="Above, pods are added: /pod or /total.")
def new_wpa(
    shared: SharedOptions,
    low: int | None,
    high: int,
    metric: str,
    below: str,
    above: str,
) -> None:
    """Keep a metric between two watermarks, by the number of pods."""
    words = Words("new wpa")
    ref = words.target(shared.target)
    lower = words.read("--low", below, partial(watermark_of, metric))
    upper = words.read("--high", above, partial(watermark_of, metric))
    if lower is not None and upper is not None and lower.algorithm != upper.algorithm:
        words.wrong(f"--low {below} and --high {above} must both be per pod or both in total")
    function: Callable[..., BandMetric] = resource_band if metric in {"cpu", "memory"} else band
    with words.checked():
        made = WPA(
            ref,
            min_replicas=low,
            max_replicas=high,
            algorithm=lower.algorithm if lower else None,
            metrics=[function(metric, low=lower and lower.amount, high=upper and upper.amount)],
            name=shared.name,
            namespace=shared.namespace,
        )
    print_made(made, shared.output)


@command.command("vpa")
@shared_options
@click.option("--mode", type=Word(UPDATE_MODES), help="How sizes reach the pods; Recreate if absent.")
@click.option("--container", default="*", show_default=True, help="The container that the bounds are for.")
@click.option("--cpu", metavar="100m..2000m", help="The bounds of the request; either end may be left out.")
@click.option("--memory", metavar="128Mi..4Gi", help="The bounds of the request; either end may be left out.")
def new_vpa(
    shared: SharedOptions,
    mode: UpdateMode | None,
    container: str,
    cpu: str | None,
    memory: str | None,
) -> None:
    """Size the pods by what they use."""
    words = Words("new vpa")
    ref = words.target(shared.target)
    ranges = {
        "cpu": words.read("--cpu", cpu, partial(range_of, "cpu")),
        "memory": words.read("--memory", memory, partial(range_of, "memory")),
    }
    least, most = _bounds(ranges, 0), _bounds(ranges, 1)
    bounded = bool(least or most)
    if container != "*" and not bounded:
        words.wrong("--container needs bounds: --cpu 100m..2000m or --memory 128Mi..4Gi")
    with words.checked():
        policy = ContainerPolicy(container, min_allowed=least or None, max_allowed=most or None)
        made = VPA(
            ref, mode=mode, containers=[policy] if bounded else None, name=shared.name, namespace=shared.namespace
        )
    print_made(made, shared.output)


def _bounds(ranges: Mapping[str, tuple[str | None, str | None] | None], end: int) -> dict[str, str]:
    """One end of each range that has it."""
    ends = {resource: both[end] for resource, both in ranges.items() if both is not None}
    return {resource: amount for resource, amount in ends.items() if amount is not None}


@command.command("hvpa")
@shared_options
@click.option(
    "--interval",
    "intervals",
    multiple=True,
    required=True,
    metavar="3x2000m,8Gi",
    help="Up to 3 pods of at most 2 cores and 8Gi each. Give it several times, from few small pods to many large ones.",
)
@_MIN
@click.option("--overlap", metavar="30%", help="How far below its interval a count is kept while scaling down.")
def new_hvpa(
    shared: SharedOptions,
    intervals: tuple[str, ...],
    low: int | None,
    overlap: str | None,
) -> None:
    """Scale on both axes: each total of cpu and memory has one count and one size."""
    words = Words("new hvpa")
    ref = words.target(shared.target)
    made_intervals = [words.read("--interval", text, interval_of) for text in intervals]
    share = words.read("--overlap", overlap, percentage_of)
    change = None if share is None else Change(percentage=share)
    with words.checked():
        made = Hvpa(
            ref,
            intervals=[one for one in made_intervals if one is not None],
            overlap=None if change is None else ResourceChanges(cpu=change, memory=change),
            min_replicas=low,
            name=shared.name,
            namespace=shared.namespace,
        )
    print_made(made, shared.output)


@command.command("autoscaler")
@shared_options
@click.option("--mode", type=Word(AUTOSCALER_MODES), help="Off if absent: it learns and reports only.")
@click.option("--axes", type=Word(AXES), help="What it sets; Both if absent.")
@_MIN
@click.option("--max", "high", type=int, metavar="N", help="Never more pods; 100 if absent.")
@click.option("--late-after", metavar="250ms", help="A request is late after this time.")
@click.option("--late-price", type=float, metavar="10", help="What a late request costs, in core-times of a request.")
def new_autoscaler(
    shared: SharedOptions,
    mode: AutoscalerMode | None,
    axes: Axes | None,
    low: int | None,
    high: int | None,
    late_after: str | None,
    late_price: float | None,
) -> None:
    """Learn from the workload itself how many pods of which size serve it at the least cost."""
    words = Words("new autoscaler")
    ref = words.target(shared.target)
    price = int(late_price) if late_price is not None and late_price.is_integer() else late_price
    with words.checked():
        made = WorkloadAutoscaler(
            ref,
            mode=mode,
            axes=axes,
            min_replicas=low,
            max_replicas=high,
            late_after=late_after,
            late_price=price,
            name=shared.name,
            namespace=shared.namespace,
        )
    print_made(made, shared.output)


@command.command("tortoise")
@shared_options
@click.option("--mode", type=Word(TORTOISE_MODES), help="Off if absent: it computes and reports only.")
@click.option("--max", "high", type=int, metavar="N", help="The HPA never gets a higher maximum.")
@click.option("--hpa", metavar="NAME", help="An existing HPA to edit; else it makes its own.")
def new_tortoise(
    shared: SharedOptions,
    mode: TortoiseMode | None,
    high: int | None,
    hpa: str | None,
) -> None:
    """Learn bounds, targets and sizes from the workload's own weeks."""
    words = Words("new tortoise")
    ref = words.target(shared.target)
    with words.checked():
        made = Tortoise(ref, mode=mode, max_replicas=high, hpa=hpa, name=shared.name, namespace=shared.namespace)
    print_made(made, shared.output)
