"""The frame of a home's display."""

from datetime import UTC, datetime
from typing import Any

from tests.support.costs import query_field
from tests.support.house import House

FRAME = """
query ($id: ID!) { home(homeId: $id) { display {
  homeId name timeZone at power { net { value unit } import { value } export { value } at }
  today { ...period } month { ...period }
  ambient { level basis powerLevels { lowBelow { value unit } } rateLevels { lowBelow { amount per } } }
  tariff {
    name per rateWithVat { amount currency per } band standingChargeWithVat { amount } until
    next { start rateWithVat { amount } band }
  }
  freshness { state asOf ageSeconds cause }
} } }
fragment energy on DisplayEnergy { energy { value unit } estimated completeTo }
fragment period on DisplayPeriod {
  start end electricity { ...energy } exported { ...energy } gas { ...energy }
  cost { total { amount } standingChargesWithVat { amount } unpriced { value } estimated } completeTo
}
"""


async def frame(house: House, home_id: str, caller: str = "account") -> Any:
    result = await query_field(house, house.one, FRAME, caller, id=home_id)
    return result.get("display", result)


async def test_home_without_readings_has_a_frame_without_numbers(served: House) -> None:
    home = await served.one.add_home(await served.one.add_resource())
    shown = await frame(served, home)
    assert (shown["power"], shown["ambient"], shown["tariff"]) == (None, None, None)
    assert (shown["freshness"]["state"], shown["freshness"]["asOf"]) == ("OFFLINE", None)
    assert (shown["today"]["electricity"]["energy"], shown["today"]["cost"], shown["today"]["gas"]) == (
        None,
        None,
        None,
    )
    assert abs(datetime.fromisoformat(shown["at"]) - datetime.now(UTC)).total_seconds() < 60


async def test_home_without_resources_has_a_frame(served: House) -> None:
    shown = await frame(served, await served.one.add_home())
    assert (shown["today"]["electricity"], shown["today"]["completeTo"]) == (None, None)
    assert shown["timeZone"] == "Europe/London"
