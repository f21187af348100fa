"""The links of displays break in several ways while meters send."""

import itertools
from collections.abc import Callable, Mapping

import pytest

from tests.faults.displays import Display
from tests.faults.environment import Environment, open_scene
from tests.faults.proxy import Link, proxy

Break = Callable[[Display, Link], None]

BREAKS: Mapping[str, Break] = {
    "the display drops it": lambda display, link: display.cut(),
    "the proxy closes it": lambda display, link: link.cut(),
    "the proxy resets it": lambda display, link: link.reset(),
    "the proxy carries no data": lambda display, link: link.dangle(),
}


@pytest.mark.long("breaks links under load; clients with a lost link stay in the short form")
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
                next(ways)  # so that each display gets another kind of break the next time
                await scene.wait_until(
                    lambda broken=broken: sum(len(display.codes) for display in scene.displays) >= broken,  # type: ignore[misc]
                    "every display has detected the break",
                )
            await scene.wait_until_live()
            findings = await scene.finish(f"{broken:,} links to displays break")
            assert findings.recovered >= broken
            assert findings.reported_missing == 0
