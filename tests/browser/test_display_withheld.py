"""The home display in a real browser for a home with three meter points, while consents are revoked and renewed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from strawberry import ID

from tests.browser.controlled_homes import FIRST_HOME, ControlledHomes, controlled_homes
from tests.browser.displays import NO_VALUE, POWER_TEXT, open_display
from tests.browser.kept_pages import KeptPages
from wattgate.app.demo import network, seed
from wattgate.app.demo.logins import USERNAME
from wattgate.clock import utc_now
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.types.homes.resources import NewResource

pytestmark = pytest.mark.browser
ELECTRICITY, GAS = (make(11) for make in (network.mpan, network.mprn))
EXPORT = network.mpan(77)


async def run(homes: ControlledHomes, name: str, **arguments: Any) -> Any:
    """Run an operation for the owner of the first home."""
    operation = next(one for one in OPERATIONS if one.name == name)
    return await homes.runner.run(operation, await owner(homes), arguments)


async def owner(homes: ControlledHomes) -> Any:
    return replace(seed.SYSTEM_PRINCIPAL, user_id=(await seed.list_owners(homes.runner))[USERNAME].user_id)


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlledHomes]:
    """The homes of the demonstration. The first one also exports, at a third meter point."""
    async with controlled_homes(tmp_path_factory.mktemp("withheld"), at_midday=True) as homes:
        exported = next(one for one in await run(homes, "resources") if one.classifier == "electricity.export")
        new = NewResource(resource_type_id=ID(exported.resource_type_id), name="electricity export", mpxn=EXPORT)
        resource_id = (await run(homes, "add_resource", input=new)).resource_id
        await run(homes, "verify_meter_point", mpxn=EXPORT)
        home = next(one for one in await run(homes, "virtual_entities") if one.name == FIRST_HOME)
        await run(homes, "add_virtual_entity_resource", ve_id=home.ve_id, resource_id=resource_id)
        yield homes


@pytest.fixture(scope="module")
async def kept(browser: Browser, homes: ControlledHomes) -> AsyncIterator[KeptPages]:
    async with homes.kept_pages(browser) as pages:
        yield pages


@pytest.fixture
async def page(homes: ControlledHomes, kept: KeptPages) -> AsyncIterator[Page]:
    async with homes.lent_page(kept) as page:
        yield page


@pytest.mark.long("draws all meters but one; a home without any consent stays in the short form")
async def test_display_draws_the_other_meters_and_names_the_withheld_one(page: Page, homes: ControlledHomes) -> None:
    await open_display(page)
    notice, gas = page.get_by_test_id("withheld"), page.get_by_test_id("today-gas")
    await expect(gas).to_be_visible()
    await expect(notice).to_be_hidden()
    await run(homes, "revoke_consents", mpxns=[GAS])
    await expect(notice).to_have_text(
        f"Gas (meter point {GAS}) is not shown: consent was revoked. To show it again, renew the consent in your app.",
        timeout=15_000,
    )
    await expect(gas).to_be_hidden()
    await expect(page.get_by_role("radio", name="Gas")).to_be_hidden(timeout=15_000)
    await homes.send_power(900, utc_now() + timedelta(seconds=1))
    await expect(page.get_by_test_id("power")).to_have_text(POWER_TEXT)
    for name in ("today-energy", "today-exported"):
        await expect(page.get_by_test_id(name)).to_be_visible()
    await expect(page.get_by_test_id("today-cost")).not_to_have_text(NO_VALUE)
    await page.reload()  # the history of a new page is complete but for the withheld meter
    await expect(page.locator(".bar")).to_have_count(8)
    await expect(notice).to_be_visible()
    for width, height in ((480, 320), (800, 480), (390, 844)):
        await page.set_viewport_size({"width": width, "height": height})
        await expect(notice).to_be_in_viewport()
        overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, (width, height)
    await run(homes, "renew_consents", mpxns=[GAS])
    await expect(gas).to_be_visible(timeout=15_000)
    await expect(notice).to_be_hidden()


async def test_display_of_a_home_without_any_consent_says_so(page: Page, homes: ControlledHomes) -> None:
    await open_display(page)
    points = [ELECTRICITY, GAS, EXPORT]
    await run(homes, "revoke_consents", mpxns=points)
    try:
        notice = page.get_by_test_id("withheld")
        await expect(notice).to_contain_text("The data of this home is withheld", timeout=15_000)
        await expect(page.get_by_test_id("connection")).to_have_text("No consent")
        await expect(page.get_by_test_id("power")).to_have_text(NO_VALUE)
    finally:
        await run(homes, "renew_consents", mpxns=points)
