"""deploy/compose.yaml: settings, commands, files, addresses and rights; its gateway serves with these settings."""

import json
import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, cast

import pytest
import yaml  # type: ignore[import-untyped]

from tests.deploy.files import DEPLOY
from tests.faults.gateways import GatewayProcess
from tests.support.command import wattgate_in
from tests.support.encryption import TEST_KEYS
from tests.support.redis_server import RedisServer
from tests.support.servers import database_on
from wattgate.app.settings import Settings

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OWN = [name for name, service in SERVICES.items() if service["image"].startswith("localhost/wattgate:")]
GATEWAYS = ["gateway-1", "gateway-2"]
ONE_SHOT = "migration"
HAS_CHECK_IN_IMAGE = {*GATEWAYS}
WITHOUT_CHECK = {"migration", "worker", "proxy", "grafana"}
"""A job that ends, a worker without a port, and images whose health the proxy and the browser show."""

EXAMPLE_VALUES = {
    "POSTGRES_PASSWORD": "1",
    "VALKEY_PASSWORD": "2",
    "WATTGATE_SECRET_KEYS": TEST_KEYS,
    "WATTGATE_PUBLIC_URL": "https://energy.example",
    "WATTGATE_SMTP_URL": "smtp+starttls://user:password@mail.example:587",
    "WATTGATE_MAIL_FROM": "energy@energy.example",
    "WATTGATE_LINK_KEY": "k" * 48,
    "GRAFANA_PASSWORD": "3",
}
VARIABLE = re.compile(r"\$\{(\w+):([?-])[^}]*\}")


def environment_of(name: str) -> dict[str, str]:
    """Return the environment of a service, with the values of a filled-in `.env`."""
    given: dict[str, str] = SERVICES[name].get("environment", {})
    return {key: VARIABLE.sub(lambda found: EXAMPLE_VALUES[found[1]], value) for key, value in given.items()}


def settings_of(name: str) -> dict[str, str]:
    """Return the settings of a service by their names in lower case."""
    return {key.removeprefix("WATTGATE_").lower(): value for key, value in environment_of(name).items()}


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_restricted_and_pinned(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == ("no" if name == ONE_SHOT else "unless-stopped")
    assert re.fullmatch(r"(localhost|docker\.io)/[\w/]+:v?\d+\.\d+(\.\d+)?", service["image"])
    has_check = "test" in service.get("healthcheck", {})
    assert has_check == (name not in HAS_CHECK_IN_IMAGE | WITHOUT_CHECK)


@pytest.mark.parametrize("name", SERVICES)
def test_service_depends_on_what_it_can_wait_for(name: str) -> None:
    needed = SERVICES[name].get("depends_on", {})
    for other, wait in needed.items():
        condition = wait.get("condition", "service_started")
        if condition == "service_completed_successfully":
            assert other == ONE_SHOT
        elif condition == "service_healthy":
            assert other in HAS_CHECK_IN_IMAGE or "test" in SERVICES[other]["healthcheck"]
        else:
            assert other in SERVICES


def test_mounted_files_and_volumes_exist() -> None:
    named = set()
    for service in SERVICES.values():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            if not source.startswith("."):
                named.add(source)
            elif source != "./tls/both.pem":  # the certificate of the user
                assert (DEPLOY / source).exists(), source
    assert named == COMPOSE["volumes"].keys()


def test_example_of_the_environment_has_each_variable_and_no_value() -> None:
    used = VARIABLE.findall(json.dumps(SERVICES))
    lines = [line for line in (DEPLOY / "compose.env.example").read_text().splitlines() if line and line[0] != "#"]
    assert sorted({name for name, _ in used}) == sorted(line.removesuffix("=") for line in lines)
    # without a value, nothing starts; Grafana then has the password `admin`, and asks for another one
    assert {name for name, kind in used if kind == "-"} == {"GRAFANA_PASSWORD"}


@pytest.mark.parametrize("name", OWN)
def test_settings_and_command_of_a_service_exist(name: str, tmp_path: Path) -> None:
    given = settings_of(name)
    assert given.keys() <= Settings.model_fields.keys()
    values = {key: json.loads(value) if value.startswith("[") else value for key, value in given.items()}
    settings = Settings(_env_file=None, **cast(Any, values))
    assert settings.deliver is (name == "worker")
    shown = wattgate_in(tmp_path, *SERVICES[name]["command"], "--help")
    assert shown.returncode == 0, shown.stderr


def test_addresses_agree() -> None:
    (network,) = COMPOSE["networks"]["outside"]["ipam"]["config"]
    proxy = SERVICES["proxy"]["environment"]
    configured = (DEPLOY / "proxies/haproxy.cfg").read_text()
    for gateway, variable in zip(GATEWAYS, ("GATEWAY_ONE", "GATEWAY_TWO"), strict=True):
        address = SERVICES[gateway]["networks"]["outside"]["ipv4_address"]
        assert ip_address(address) in ip_network(network["subnet"])
        assert proxy[variable] == f"{address}:8000"
        assert f'"${{{variable}-' in configured
        assert json.loads(settings_of(gateway)["trusted_proxies"]) == [network["subnet"]]
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    exposed = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert exposed == {"proxy": ["443:443"], "grafana": ["127.0.0.1:3000:3000"]}


@pytest.mark.long("starts a gateway; the settings alone stay in the short form")
async def test_migration_and_gateway_run_with_these_settings(
    postgresql_url: str, redis: RedisServer, tmp_path: Path
) -> None:
    async with database_on(postgresql_url) as url:
        servers = {"database_url": url, "redis_url": redis.url}
        upgrade = {f"{key.upper()}": value for key, value in (settings_of(ONE_SHOT) | servers).items()}
        done = wattgate_in(tmp_path, *SERVICES[ONE_SHOT]["command"], **upgrade)
        assert done.returncode == 0, done.stderr
        given = {key.upper(): value for key, value in (settings_of(GATEWAYS[0]) | servers).items()}
        gateway = GatewayProcess("one", tmp_path, {**given, "METRICS_PORT": "0"})
        try:
            await gateway.start()  # waits until /readyz is 200
        finally:
            await gateway.kill()
