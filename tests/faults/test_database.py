"""PostgreSQL fails while meters send and displays are subscribed."""

import pytest

from tests.faults.environment import Environment, open_scene


@pytest.mark.long("restarts a PostgreSQL under load; killed gateways stay in the short form")
async def test_failure_of_the_database_loses_nothing(environment: Environment) -> None:
    async with open_scene(environment) as scene:
        for _ in range(environment.scale.cycles):
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await environment.postgresql.crash()
            await scene.meters.wait_for_failure()
            await environment.postgresql.start()
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await scene.wait_until_shown()
        assert not [code for display in scene.displays for code in display.codes]
        findings = await scene.finish("PostgreSQL stops immediately and recovers")
        assert findings.reported_losses == 0
