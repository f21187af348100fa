"""The rules, the dashboard and the configuration of Prometheus, by promtool and a Prometheus that reads gateways."""

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import yaml  # type: ignore[import-untyped]

from generate_monitoring import generated_files
from monitoring.table import ALERTS, MONITORED
from tests.app.test_serving import NO_DRAIN_DELAY, Home, home
from tests.deploy.alert_cases import CASES, REQUESTS, AlertCase
from tests.deploy.files import DEPLOY, ROOT
from tests.support.ports import free_port
from tests.support.processes import gateway, process
from tests.support.system_programs import required_program
from wattgate.app.settings import Settings
from wattgate.metrics import METRICS

__all__ = ["home"]

Answer = TypeVar("Answer")

PROMETHEUS = DEPLOY / "prometheus"
RULES: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "rules.yaml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
CHARTS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [target["expr"] for panel in CHARTS for target in panel["targets"]]
SETTINGS = {f"WATTGATE_{name.upper()}" for name in Settings.model_fields}


def promtool(*arguments: str | Path, both_streams: bool = False) -> subprocess.CompletedProcess[str]:
    """Run promtool to its end. With `both_streams`, its output also has the lines of its errors, in their order."""
    command = [required_program("promtool"), *map(str, arguments)]
    errors = subprocess.STDOUT if both_streams else subprocess.PIPE
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, timeout=60, check=False)


@pytest.mark.parametrize("path", generated_files(), ids=lambda path: path.name)
def test_file_is_generated_from_the_table(path: Path) -> None:
    assert path.read_text() == generated_files()[path], "run `make generate`"


def test_each_metric_is_in_the_table_once() -> None:
    assert [monitored.metric for monitored in MONITORED] == list(METRICS)


def test_each_metric_has_a_panel_of_its_own() -> None:
    assert len({panel["title"] for panel in CHARTS}) == len(CHARTS)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for metric in METRICS:
        (family,) = metric.collect()
        assert any(family.name in expression for expression in EXPRESSIONS), family.name


def test_configuration_and_rules_are_valid() -> None:
    result = promtool("check", "config", PROMETHEUS / "prometheus.yaml")
    assert result.returncode == 0, result.stderr
    assert f"{len(ALERTS)} rules found" in result.stdout


def test_actions_name_settings_that_exist() -> None:
    named = {name for alert in ALERTS for name in re.findall(r"WATTGATE_\w+", alert.action)}
    assert named
    assert named <= SETTINGS


@pytest.mark.parametrize("alert", [alert.name for alert in ALERTS])
def test_each_alert_has_a_case_that_fires_and_one_that_does_not(alert: str) -> None:
    assert {bool(case.firing) for case in CASES if case.alert == alert} == {True, False}


def unit_test(case: AlertCase) -> dict[str, object]:
    """Return a case as promtool reads it. Labels and annotations of the rule are expected as the rule has them."""
    (rule,) = (rule for rule in RULES if rule["alert"] == case.alert)
    expected = [
        {"exp_labels": rule["labels"] | labels, "exp_annotations": rule["annotations"]} for labels in case.firing
    ]
    return {
        "name": f"{case.alert}: {case.situation}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [{"eval_time": f"{case.minutes}m", "alertname": case.alert, "exp_alerts": expected}],
    }


def failed_alerts(folder: Path, **changes: str) -> tuple[set[str], str]:
    """Run the cases of each alert with its rule alone. Return the alerts with a case that fails, and the output.

    promtool evaluates each rule of a file in each case, so that each alert has files of its own.
    """
    files = []
    for number, rule in enumerate(RULES):
        rules, tests = folder / f"rules-{number}.yaml", folder / f"cases-{number}.yaml"
        rules.write_text(yaml.safe_dump({"groups": [{"name": "wattgate", "rules": [rule | changes]}]}))
        cases = [unit_test(case) for case in CASES if case.alert == rule["alert"]]
        content = {"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": cases}
        tests.write_text(yaml.safe_dump(content))
        files.append(tests)
    output = promtool("test", "rules", *files, both_streams=True).stdout
    parts = dict(re.findall(r"Unit Testing: +(\S+)\n(.*?)(?=Unit Testing:|\Z)", output, re.DOTALL))
    assert list(parts) == [str(file) for file in files], output
    failed = {rule["alert"] for rule, file in zip(RULES, files, strict=True) if "FAILED" in parts[str(file)]}
    passed = {rule["alert"] for rule, file in zip(RULES, files, strict=True) if "SUCCESS" in parts[str(file)]}
    assert failed ^ passed == {alert.name for alert in ALERTS}, output
    return failed, output


@pytest.mark.long("promtool evaluates hours of each alert")
def test_alerts_fire_in_their_situations_and_in_no_other(tmp_path: Path) -> None:
    failed, output = failed_alerts(tmp_path)
    assert failed == set(), output


@pytest.mark.parametrize("expression", ["vector(1) < 0", "vector(1)"])
def test_a_rule_that_never_fires_or_always_fires_is_found(tmp_path: Path, expression: str) -> None:
    failed, output = failed_alerts(tmp_path, expr=expression)
    assert failed == {alert.name for alert in ALERTS}, output


@asynccontextmanager
async def prometheus(folder: Path, targets: list[str]) -> AsyncIterator[httpx.AsyncClient]:
    """Run Prometheus with the files of deploy/, but with these targets and a scrape each half second."""
    configuration = yaml.safe_load((PROMETHEUS / "prometheus.yaml").read_text())
    configuration["scrape_configs"][0]["static_configs"][0]["targets"] = targets
    configuration["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
    (folder / "rules.yaml").write_text((PROMETHEUS / "rules.yaml").read_text())
    port = free_port()
    with (folder / "prometheus.log").open("wb") as log:
        running = await asyncio.create_subprocess_exec(
            required_program("prometheus"),
            f"--config.file={folder}/prometheus.yaml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            stdout=log,
            stderr=log,
        )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/api/v1") as client:
            yield client
    finally:
        running.terminate()
        await running.wait()


async def query(client: httpx.AsyncClient, expression: str) -> list[dict[str, Any]]:
    """Return the samples of an expression, or no samples while Prometheus is not ready."""
    try:
        response = await client.get("/query", params={"query": expression})
    except httpx.TransportError:
        return []
    if response.status_code == 503:
        return []
    assert response.status_code == 200, (expression, response.text)
    result: list[dict[str, Any]] = response.json()["data"]["result"]
    return result


async def evaluated_rules(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    """Return the rules that Prometheus has evaluated."""
    (group,) = (await client.get("/rules")).json()["data"]["groups"]
    return [rule for rule in group["rules"] if rule["health"] != "unknown"]


async def until(ask: Callable[[], Awaitable[Answer]], fits: Callable[[Answer], bool]) -> Answer:
    """Ask until the answer fits, at most for a minute."""
    async with asyncio.timeout(60):
        while True:
            answer = await ask()
            if fits(answer):
                return answer
            await asyncio.sleep(0.2)


@pytest.mark.long("starts a gateway, a worker and Prometheus; promtool alone stays in the short form")
async def test_prometheus_reads_gateway_and_worker_and_evaluates_each_panel(home: Home, tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    targets = [f"127.0.0.1:{port}" for port in ports]
    async with (
        gateway(folder=home.folder, METRICS_PORT=str(ports[0]), DELIVER="false", **NO_DRAIN_DELAY) as serving,
        process("worker", folder=home.folder, METRICS_PORT=str(ports[1])) as worker,
        prometheus(tmp_path, targets) as client,
        httpx.AsyncClient(base_url=serving.url) as caller,
    ):
        await worker.logs("Delivering as worker")
        await until(lambda: query(client, 'up{job="wattgate"} == 1'), lambda up: len(up) == len(targets))

        async def count_requests() -> list[dict[str, Any]]:
            await caller.get("/healthz")
            return await query(client, f'rate({REQUESTS}_count{{route="/healthz"}}[1m]) > 0')

        await until(count_requests, bool)
        for expression in EXPRESSIONS:
            await query(client, expression.replace("$instance", ".+").replace("$__rate_interval", "1m"))
        rules = await until(lambda: evaluated_rules(client), lambda found: len(found) == len(ALERTS))
        assert {rule["health"] for rule in rules} == {"ok"}
        assert {rule["name"] for rule in rules if rule["state"] == "firing"} == set()


def test_grafana_finds_the_dashboard_and_prometheus_where_compose_has_them() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    mounts = dict(mount.split(":")[:2] for mount in compose["grafana"]["volumes"])
    provisioning = DEPLOY / "grafana/provisioning"
    (provider,) = yaml.safe_load((provisioning / "dashboards/wattgate.yaml").read_text())["providers"]
    assert mounts["./grafana/dashboard.json"] == f"{provider['options']['path']}/dashboard.json"
    assert mounts["./grafana/provisioning"] == "/etc/grafana/provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources/prometheus.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert "prometheus" in compose


def test_prometheus_reads_each_gateway_and_worker_of_compose() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    (job,) = yaml.safe_load((PROMETHEUS / "prometheus.yaml").read_text())["scrape_configs"]
    own = [name for name, service in compose.items() if service.get("command") in (["serve"], ["worker"])]
    port = compose["worker"]["environment"]["WATTGATE_METRICS_PORT"]
    assert job["static_configs"][0]["targets"] == [f"{name}:{port}" for name in own]
    assert job["job_name"] == "wattgate"


def test_documents_say_where_the_files_are() -> None:
    guide = (ROOT / "docs/how-to/operate.md").read_text()
    for name in ("prometheus/rules.yaml", "grafana/dashboard.json"):
        assert f"../../deploy/{name}" in guide
