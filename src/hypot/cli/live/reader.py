"""Reads collections of a cluster page by page, without changing anything. What cannot be read is kept as a `Status`."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from hypot.cli.live.fields import kept
from hypot.cluster.page import UnreadableError, plain_fields, read_object, read_page
from hypot.cluster.port import Answer, Port, Request, UnreachableError
from hypot.run.observe.watches import ApiResource

PAGE: Final = 500
AT_ONCE: Final = 8
WITHIN: Final = 30.0
# How often a list begins again because its pages have expired.
RESTARTS: Final = 2
EXPIRED: Final = 410

Object = dict[str, Any]
# Called with the resource and how many of its objects were read.
OnProgress = Callable[[str, int], None]


class NotLoggedInError(Exception):
    """The cluster does not accept the credentials."""


class CannotReadError(Exception):
    """Something that could not be read, and the status of the answer if there was one."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code

    @property
    def gone(self) -> bool:
        return self.code == 404


class Collection(NamedTuple):
    """What to list: a resource, in a namespace or in all, and which of its objects."""

    resource: ApiResource
    namespace: str = ""
    query: Mapping[str, str] = {}
    # What it means if the kind is not served; without a message it means that there are none.
    not_served: str = ""

    @property
    def path(self) -> str:
        return self.resource.path(self.namespace)


class ClusterReader:
    """Collects objects, with only the fields that matter, and what the cluster refused."""

    def __init__(self, port: Port, on_progress: OnProgress = lambda _, __: None) -> None:
        self.port = port
        self.objects: list[Object] = []
        self.refusals: dict[str, Object] = {}
        # What else people must know.
        self.notes: list[str] = []
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._on_progress = on_progress

    async def read(self, wanted: Iterable[Collection]) -> list[Object]:
        """The objects of all these collections, which are also kept. What is refused is left out."""
        found = await asyncio.gather(*[self._listed(one) for one in wanted])
        objects = [each for objects in found for each in objects]
        self.objects += objects
        return objects

    async def _listed(self, wanted: Collection) -> list[Object]:
        try:
            return await self.listed(wanted)
        except CannotReadError as error:
            self.refuse(wanted.path, error)
            return []

    async def listed(self, wanted: Collection) -> list[Object]:
        """The objects of a collection, which are not kept. Raises CannotReadError."""
        async with self._turns:
            for _ in range(RESTARTS + 1):
                found = await self._pages(wanted)
                if found is not None:
                    return found
        raise CannotReadError("the list expires before it is read")

    async def get(self, path: str) -> Object | None:
        """One object as it is, with all fields; None if there is none, or if it cannot be read."""
        async with self._turns:
            try:
                answer = await self._asked(Request("GET", path, timeout=WITHIN))
                return read_object(answer.body)
            except UnreadableError as error:
                self.refuse(path, CannotReadError(str(error)))
            except CannotReadError as error:
                if not error.gone:
                    self.refuse(path, error)
        return None

    def keep(self, resource: ApiResource, data: Object) -> None:
        self.objects.append(kept(resource.api_version, resource.kind, data))

    def refuse(self, link: str, error: "CannotReadError") -> None:
        """Keep why something could not be read; the link is the path with its parameters."""
        made: Object = {"apiVersion": "v1", "kind": "Status", "metadata": {"selfLink": link}, "status": "Failure"}
        self.refusals[link] = made | {"message": str(error)} | ({"code": error.code} if error.code else {})

    async def _pages(self, wanted: Collection) -> list[Object] | None:
        """All pages; None if they have expired."""
        found: list[Object] = []
        token = ""
        while True:
            query = {**wanted.query, "limit": str(PAGE), **({"continue": token} if token else {})}
            request = Request("GET", wanted.path, query, timeout=WITHIN)
            try:
                page = read_page((await self._asked(request)).body)
            except UnreadableError as error:
                raise CannotReadError(str(error)) from error
            except CannotReadError as error:
                if error.code == EXPIRED:
                    return None
                if error.gone and not wanted.not_served:
                    return []
                raise CannotReadError(wanted.not_served if error.gone else str(error), error.code) from error
            items = [self._item(wanted, item) for item in page.items or ()]
            found += [item for item in items if item is not None]
            self._on_progress(wanted.resource.plural, len(page.items or ()))
            token = page.metadata.continue_
            if not token:
                return found

    def _item(self, wanted: Collection, text: Any) -> Object | None:
        try:
            return kept(wanted.resource.api_version, wanted.resource.kind, read_object(text))
        except UnreadableError as error:
            metadata = plain_fields(text, "metadata")
            name = str(metadata.get("name") or "")
            path = f"{wanted.resource.path(str(metadata.get('namespace') or ''))}/{name}"
            self.refuse(path, CannotReadError(f"it cannot be read: {error}"))
            return None

    async def _asked(self, request: Request) -> Answer:
        try:
            answer = await self.port.call(request)
        except UnreachableError as error:
            raise CannotReadError(str(error)) from error
        if answer.status == 401:
            raise NotLoggedInError(answer.message)
        if not answer.ok:
            raise CannotReadError(answer.message, answer.status)
        return answer
