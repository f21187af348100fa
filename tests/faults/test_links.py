"""The links of displays break in every way while readings come."""

import itertools
from collections.abc import Callable, Mapping

from tests.faults.displays import Display
from tests.faults.proxy import Link, proxy
from tests.faults.street import Street, scene

Break = Callable[[Display, Link], None]

WAYS: Mapping[str, Break] = {
    "the display cuts it": lambda display, link: display.cut(),
    "it is cut on the way": lambda display, link: link.cut(),
    "it is reset on the way": lambda display, link: link.reset(),
    "it carries nothing any more": lambda display, link: link.dangle(),
}


async def test_links_that_break_in_every_way_lose_nothing(street: Street) -> None:
    async with proxy(street.gateways[0].port) as one, proxy(street.gateways[1].port) as other:
        async with scene(street, ports=[one.port, other.port]) as play:
            broken, ways = 0, itertools.cycle(WAYS.values())
            while broken < street.scale.reconnects:
                await play.meters.more(1)
                await play.all_live()
                links = {link.port: link for way in (one, other) for link in way.links}
                for display in play.displays:
                    next(ways)(display, links[display.port])
                broken += len(play.displays)
                next(ways)  # so that it is another way for each display the next time
                await play.until(
                    lambda broken=broken: sum(len(display.codes) for display in play.displays) >= broken,  # type: ignore[misc]
                    "every display has noticed",
                )
            await play.all_live()
            found = await play.end(f"{broken:,} links to displays break")
            assert found.recovered >= broken
            assert found.lost_as_told == 0
