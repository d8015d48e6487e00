"""The part of a new pod that sizing needs. Everything else is skipped without being decoded.

Admission comes before validation: a pod in a review may have a hundred thousand containers. Such a pod stays as it is,
because sizing it would block all other reviews.
"""

from typing import Any

import msgspec

from hypot.policy.vertical.need import OBSERVED_CONTAINERS

# More than any pod has, and few enough to be sized in some milliseconds.
MOST_CONTAINERS = 100
# The labels, owners and resources together, in bytes.
MOST_READ = 64 << 10
# Names the sizer of a pod; a suffix says that the pod is smaller or larger than its sizer recommends.
SIZED_BY = "hypot.dev/sized-by"

_ABSENT = msgspec.Raw(b"")


class LargePodError(ValueError):
    """The pod is too large to be sized."""


class _Annotations(msgspec.Struct, gc=False):
    """Only what hypot writes itself."""

    sized_by: msgspec.Raw = msgspec.field(default=_ABSENT, name=SIZED_BY)
    observed: msgspec.Raw = msgspec.field(default=_ABSENT, name=OBSERVED_CONTAINERS)


class _NewMetadata(msgspec.Struct, gc=False, rename="camel"):
    name: msgspec.Raw = _ABSENT
    generate_name: msgspec.Raw = _ABSENT
    labels: msgspec.Raw = _ABSENT
    owner_references: msgspec.Raw = _ABSENT
    annotations: _Annotations | None = None


class _NewContainer(msgspec.Struct, gc=False, rename="camel"):
    name: msgspec.Raw = _ABSENT
    resources: msgspec.Raw = _ABSENT
    resize_policy: msgspec.Raw = _ABSENT
    restart_policy: msgspec.Raw = _ABSENT


class _NewSpec(msgspec.Struct, gc=False, rename="camel"):
    containers: msgspec.Raw = _ABSENT
    init_containers: msgspec.Raw = _ABSENT
    resources: msgspec.Raw = _ABSENT
    overhead: msgspec.Raw = _ABSENT


class _NewPod(msgspec.Struct, gc=False):
    metadata: _NewMetadata = msgspec.field(default_factory=_NewMetadata)
    spec: _NewSpec = msgspec.field(default_factory=_NewSpec)


# A list as a structure with a field for each element: elements without a field are skipped, and no object is made for
# them. One field more than MOST_CONTAINERS shows that there are too many.
_Listed = msgspec.defstruct(
    "_Listed",
    [(f"container{place}", _NewContainer, msgspec.field(default=None)) for place in range(MOST_CONTAINERS + 1)],
    array_like=True,
    gc=False,
)
_POD, _LISTED = msgspec.json.Decoder(_NewPod), msgspec.json.Decoder(_Listed | None)


def read_new_pod(written: msgspec.Raw) -> dict[str, Any]:
    """The pod with the fields that sizing needs; raises LargePodError, or DecodeError if it is not a pod."""
    pod = _POD.decode(written)
    read = {"containers": _listed(pod.spec.containers), "initContainers": _listed(pod.spec.init_containers)}
    if sum(map(len, read.values())) > MOST_CONTAINERS:
        raise LargePodError(f"it has more than {MOST_CONTAINERS} containers")
    pod.spec.containers = pod.spec.init_containers = _ABSENT
    parts = (pod, *read.values())
    size = sum(map(_size, parts))
    if size > MOST_READ:
        raise LargePodError(f"its labels, owners and resources have {size} bytes, more than {MOST_READ}")
    plain: dict[str, Any] = _plain(pod)
    plain["spec"] |= {name: _plain(containers) for name, containers in read.items()}
    return plain


def _listed(written: msgspec.Raw) -> list[_NewContainer]:
    """The containers of a list, at most one more than MOST_CONTAINERS."""
    listed = None if written is _ABSENT else _LISTED.decode(written)
    return [] if listed is None else [each for each in msgspec.structs.astuple(listed) if each is not None]


def _size(value: Any) -> int:
    """The bytes that are not decoded yet."""
    match value:
        case msgspec.Raw():
            return len(bytes(value))
        case list():
            return sum(map(_size, value))
        case msgspec.Struct():
            return sum(_size(getattr(value, name)) for name in value.__struct_fields__)
        case _:
            return 0


def _plain(value: Any) -> Any:
    """The value as mappings and lists; absent fields are left out."""
    match value:
        case msgspec.Raw():
            return msgspec.json.decode(value)
        case list():
            return [_plain(each) for each in value]
        case msgspec.Struct():
            names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
            found = [(wire, getattr(value, name)) for wire, name in names]
            return {wire: _plain(part) for wire, part in found if part is not None and part is not _ABSENT}
        case _:
            return value
