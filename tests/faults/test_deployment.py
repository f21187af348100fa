"""Each server of a deployment for high availability fails while meters send and displays are subscribed."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import pytest

from tests.faults.conftest import report_rows_of
from tests.faults.deployment import Deployment, running_deployment
from tests.faults.displays import Display, reported_losses
from tests.faults.environment import Scene, open_scene
from tests.support.certificates import issue_certificates


@pytest.fixture(scope="module")
async def shared_deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    folder = tmp_path_factory.mktemp("deployment")
    async with running_deployment(folder, issue_certificates(tmp_path_factory.mktemp("certificates"))) as started:
        yield started


@pytest.fixture
async def environment(shared_deployment: Deployment, request: pytest.FixtureRequest) -> Deployment:
    """A deployment whose servers all run when a test starts."""
    shared_deployment.report_row = report_rows_of(request.node)
    await shared_deployment.start_all()
    return shared_deployment


async def command_redis_failover(environment: Deployment, scene: Scene) -> None:
    counts = {display: reported_losses(display) for display in scene.displays}
    await environment.sentinels.fail_over()
    await wait_for_reports(scene, counts)
    await environment.sentinels.wait_until_ready()


async def kill_redis_primary(environment: Deployment, scene: Scene) -> None:
    old = await environment.sentinels.primary()
    counts = {display: reported_losses(display) for display in scene.displays}
    await old.kill()
    await environment.sentinels.wait_for_failover(old)
    await wait_for_reports(scene, counts)
    await old.start()
    await environment.sentinels.wait_until_ready()


async def wait_for_reports(scene: Scene, counts: Mapping[Display, int]) -> None:
    """Wait until each display has received `recovered: false`: the new primary may lack events."""
    await scene.wait_until(
        lambda: all(reported_losses(display) > count for display, count in counts.items()),
        "every display receives recovered: false",
    )


async def restart_database_primary(environment: Deployment, scene: Scene) -> None:
    await environment.postgresql.crash()
    await scene.meters.wait_for_failure()
    await environment.postgresql.start()


async def lose_database_replica(environment: Deployment, scene: Scene) -> None:
    await environment.standby.stop()
    await scene.meters.wait_for_rounds(environment.scale.rounds)
    await environment.standby.start()


async def kill_gateway(environment: Deployment, scene: Scene) -> None:
    await environment.gateways[0].kill()
    await scene.meters.wait_for_rounds(environment.scale.rounds)
    await environment.gateways[0].start()


async def restart_proxy(environment: Deployment, scene: Scene) -> None:
    await environment.proxy.kill()
    await environment.proxy.start()


Fault = Callable[[Deployment, Scene], Awaitable[None]]
FAULTS: dict[str, Fault] = {
    "failover of Redis by command": command_redis_failover,
    "the primary of Redis is killed": kill_redis_primary,
    "PostgreSQL stops immediately and recovers": restart_database_primary,
    "the replica is lost and returns": lose_database_replica,
    "a gateway is killed": kill_gateway,
    "HAProxy is killed and restarts": restart_proxy,
}


@pytest.mark.long("starts a whole deployment; faults of each part alone stay in the short form")
@pytest.mark.parametrize("title", FAULTS)
async def test_fault_loses_nothing_and_leaves_no_gap(environment: Deployment, title: str) -> None:
    alerts_before = len(environment.provider.received)
    async with open_scene(environment) as scene:
        for _ in range(environment.scale.cycles):
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await environment.send_alert()
            await FAULTS[title](environment, scene)
            await scene.meters.wait_for_rounds(environment.scale.rounds)
            await environment.send_alert()
            await scene.wait_until_live()
            await scene.wait_until_shown()
        await scene.finish(f"deployment: {title}")
    await environment.wait_until_all_alerts_are_sent(alerts_before + 2 * environment.scale.cycles)
