"""What a home's display draws, told as one frame."""

from datetime import UTC, datetime
from typing import Any

from tests.support.costs import query_field
from tests.support.house import House

FRAME = """
query ($id: ID!) { virtualEntity(veId: $id) { display {
  veId name timeZone at power { net import export unit at }
  today { ...period } month { ...period }
  ambient { level basis lowBelow highFrom unit }
  tariff { name rate band unit standingCharge currency until next { start rate band } }
  freshness { state asOf ageSeconds cause }
} } }
fragment energy on DisplayEnergy { value unit estimated completeTo }
fragment period on DisplayPeriod {
  start end electricity { ...energy } exported { ...energy } gas { ...energy }
  cost { total standingCharge currency unpriced estimated } completeTo
}
"""


async def frame(house: House, home_id: str, who: str = "account") -> Any:
    found = await query_field(house, house.one, FRAME, who, id=home_id)
    return found.get("display", found)


async def test_a_home_without_any_reading_has_a_frame_without_numbers(served: House) -> None:
    home = await served.one.add_home(await served.one.add_resource())
    found = await frame(served, home)
    assert (found["power"], found["ambient"], found["tariff"]) == (None, None, None)
    assert (found["freshness"]["state"], found["freshness"]["asOf"]) == ("OFFLINE", None)
    assert (found["today"]["electricity"]["value"], found["today"]["cost"], found["today"]["gas"]) == (None, None, None)
    assert abs(datetime.fromisoformat(found["at"]) - datetime.now(UTC)).total_seconds() < 60


async def test_a_home_that_measures_nothing_has_a_frame_too(served: House) -> None:
    found = await frame(served, await served.one.add_home())
    assert (found["today"]["electricity"], found["today"]["completeTo"]) == (None, None)
    assert found["timeZone"] == "Europe/London"
