"""A router for the many paths of the REST interface."""

from collections import defaultdict
from collections.abc import Sequence

from starlette.convertors import StringConvertor
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import Receive, Scope, Send

from wattgate.requests.request_path import decode_segment, has_encoded_slash

Key = tuple[int, str | None]
"""The number of segments of a path, and the first one; None for one that is a parameter."""


class RestRouter(Router):
    """A router that compares a request only with the routes of its number of segments and of its first segment.

    Starlette's router compares it with all of them, one after another. It still serves requests that no route accepts.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        super().__init__(routes)
        keyed = [(_key_of(route), route) for route in routes]
        firsts_by_count: dict[int, set[str | None]] = defaultdict(set)
        for (count, first), _ in keyed:
            firsts_by_count[count].add(first)
        self._routes_by_key: dict[Key, list[BaseRoute]] = defaultdict(list)
        for (count, first), route in keyed:
            for accepted in firsts_by_count[count] if first is None else (first,):
                self._routes_by_key[count, accepted].append(route)

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request by the first route that accepts it."""
        if scope["type"] == "http":
            for route in self._candidates(scope["path"].removeprefix(scope.get("root_path", ""))):
                match, child_scope = route.matches(scope)
                if match is Match.FULL:
                    scope.setdefault("router", self)
                    scope["route"] = route
                    scope.update(child_scope)
                    if has_encoded_slash(scope.get("raw_path") or b""):
                        decoded = {name: decode_segment(text) for name, text in scope["path_params"].items()}
                        scope["path_params"] = decoded
                    await route.handle(scope, receive, send)
                    return
        await super().app(scope, receive, send)

    def _candidates(self, path: str) -> Sequence[BaseRoute]:
        """Return the routes that may accept a path, in their order.

        A pattern also accepts a newline after its end, which the segments of such a path do not show.
        """
        if "\n" in path:
            return self.routes
        _, _, segments = path.partition("/")
        count, first = segments.count("/"), segments.partition("/")[0]
        known = self._routes_by_key.get((count, first))
        return self._routes_by_key.get((count, None), ()) if known is None else known


def _key_of(route: BaseRoute) -> Key:
    """Return the key of a route. Raise TypeError for one whose parameters may contain slashes."""
    if not isinstance(route, Route) or any(type(one) is not StringConvertor for one in route.param_convertors.values()):
        raise TypeError(f"{route!r} has no fixed number of segments")
    segments = route.path.removeprefix("/").split("/")
    return len(segments) - 1, None if "{" in segments[0] else segments[0]
