"""The links of displays break in every way while readings come."""

import itertools
from collections.abc import Callable, Mapping

from tests.faults.displays import Display
from tests.faults.environment import Environment, open_scene
from tests.faults.proxy import Link, proxy

Break = Callable[[Display, Link], None]

BREAKS: Mapping[str, Break] = {
    "the display cuts it": lambda display, link: display.cut(),
    "it is cut on the way": lambda display, link: link.cut(),
    "it is reset on the way": lambda display, link: link.reset(),
    "it carries nothing any more": lambda display, link: link.dangle(),
}


async def test_broken_links_lose_nothing(environment: Environment) -> None:
    async with proxy(environment.gateways[0].port) as first, proxy(environment.gateways[1].port) as second:
        async with open_scene(environment, ports=[first.port, second.port]) as scene:
            broken, ways = 0, itertools.cycle(BREAKS.values())
            while broken < environment.scale.reconnects:
                await scene.meters.wait_for_rounds(1)
                await scene.wait_until_live()
                links = {link.port: link for opened_proxy in (first, second) for link in opened_proxy.links}
                for display in scene.displays:
                    next(ways)(display, links[display.port])
                broken += len(scene.displays)
                next(ways)  # so that it is another way for each display the next time
                await scene.wait_until(
                    lambda broken=broken: sum(len(display.codes) for display in scene.displays) >= broken,  # type: ignore[misc]
                    "every display has noticed",
                )
            await scene.wait_until_live()
            findings = await scene.finish(f"{broken:,} links to displays break")
            assert findings.recovered >= broken
            assert findings.reported_missing == 0
