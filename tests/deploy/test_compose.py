"""deploy/compose.yaml: syntax, settings, commands, files, addresses and rights. A gateway serves with its settings."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, cast

import pytest
import yaml  # type: ignore[import-untyped]

from tests.deploy.files import DEPLOY, ROOT
from tests.deploy.test_containerfile import instructions
from tests.faults.gateways import GatewayProcess
from tests.support.command import wattgate_in
from tests.support.encryption import TEST_KEYS
from tests.support.redis_server import RedisServer, redis_server
from tests.support.servers import database_on
from tests.support.system_programs import required_program
from wattgate.app.settings import Settings

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OWN = [name for name, service in SERVICES.items() if service["image"].startswith("localhost/wattgate:")]
GATEWAYS = ["gateway-1", "gateway-2"]
ONE_SHOT = "migration"
WITHOUT_CHECK = {"migration", "worker", "proxy", "grafana"}
"""A job that ends, a worker without a port, and images whose health the proxy and the browser show."""

IMAGE = r"(localhost/wattgate|docker\.io/[\w/]+):(v?\d+\.\d+(\.\d+)?|(?<=postgres:)\d+)"
"""A version, or a series that only gets corrections. PostgreSQL numbers its series by one number."""

CERTIFICATES = "./tls"
"""The folder of the user's certificate."""

EXAMPLE_VALUES = {
    "POSTGRES_PASSWORD": "1",
    "DATABASE_PASSWORD": "4",
    "VALKEY_PASSWORD": "2",
    "WATTGATE_SECRET_KEYS": TEST_KEYS,
    "WATTGATE_PUBLIC_URL": "https://energy.example",
    "WATTGATE_SMTP_URL": "smtp+starttls://user:password@mail.example:587",
    "WATTGATE_MAIL_FROM": "energy@energy.example",
    "WATTGATE_LINK_KEY": "k" * 48,
    "GRAFANA_PASSWORD": "3",
}
MAIL_SETTINGS = {"smtp_url", "mail_from", "link_key"}
"""The settings without which mail waits in the outbox."""

VARIABLE = re.compile(r"\$\{(\w+):([?-])[^}]*\}")


def environment_of(name: str) -> dict[str, str]:
    """Return the environment of a service, with the values of a filled-in `.env`."""
    given: dict[str, str] = SERVICES[name].get("environment", {})
    return {key: VARIABLE.sub(lambda found: EXAMPLE_VALUES[found[1]], value) for key, value in given.items()}


def parse(folder: Path, values: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Let podman-compose, which asks Podman first, parse the file with these values, and print the result."""
    required_program("podman")
    environment = folder / "compose.env"
    environment.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    program = Path(sys.executable).parent / "podman-compose"
    command: list[str | Path] = [program, "--file", DEPLOY / "compose.yaml", "--env-file", environment, "config"]
    inherited = {name: value for name, value in os.environ.items() if name not in EXAMPLE_VALUES}
    return subprocess.run(command, env=inherited, capture_output=True, text=True, timeout=60, check=False)


def problems(document: Path, schema: str = "vendor.compose-spec") -> str:
    """Return what a schema that check-jsonschema contains refuses in a file, or nothing."""
    program = Path(sys.executable).parent / "check-jsonschema"
    command: list[str | Path] = [program, "--builtin-schema", schema, document]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return result.stdout if result.returncode else ""


def settings_of(name: str) -> dict[str, str]:
    """Return the settings of a service by their names in lower case."""
    return {key.removeprefix("WATTGATE_").lower(): value for key, value in environment_of(name).items()}


def test_file_follows_the_schema_of_compose() -> None:
    assert problems(DEPLOY / "compose.yaml") == ""


def test_schema_of_compose_finds_a_misspelled_member(tmp_path: Path) -> None:
    misspelled = tmp_path / "compose.yaml"
    misspelled.write_text((DEPLOY / "compose.yaml").read_text().replace("healthcheck:", "health_check:"))
    assert "'health_check' was unexpected" in problems(misspelled)


def test_file_with_values_follows_the_schema_of_compose(tmp_path: Path) -> None:
    parsed = parse(tmp_path, EXAMPLE_VALUES)
    assert parsed.returncode == 0, parsed.stderr
    resolved = tmp_path / "resolved.yaml"
    resolved.write_text(parsed.stdout)
    assert problems(resolved) == ""
    services = yaml.safe_load(parsed.stdout)["services"]
    assert {name: service.get("environment", {}) for name, service in services.items()} == {
        name: environment_of(name) for name in SERVICES if "profiles" not in SERVICES[name]
    }


@pytest.mark.parametrize("name", EXAMPLE_VALUES)
def test_nothing_starts_without_a_value(tmp_path: Path, name: str) -> None:
    refused = parse(tmp_path, EXAMPLE_VALUES | {name: ""})
    assert refused.returncode != 0
    assert f"required variable {name} is missing a value: see compose.env.example" in refused.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_restricted_and_pinned(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == ("no" if name == ONE_SHOT else "unless-stopped")
    assert service["logging"] == {"driver": "local"}
    assert re.fullmatch(IMAGE, service["image"])
    has_check = "test" in service.get("healthcheck", {})
    assert has_check == (name not in WITHOUT_CHECK)


def test_health_check_of_a_gateway_is_that_of_the_image() -> None:
    (declared,) = instructions("HEALTHCHECK")
    options, _, command = declared.partition(" CMD ")
    expected = {"test": ["CMD", *json.loads(command)]}
    expected |= {name.replace("-", "_"): value for name, value in re.findall(r"--([\w-]+)=(\w+)", options)}
    for name in GATEWAYS:
        check = SERVICES[name]["healthcheck"]
        assert check | {"retries": str(check["retries"])} == expected


def test_one_service_builds_the_image_that_others_use() -> None:
    assert [name for name in OWN if "build" in SERVICES[name]] == [ONE_SHOT]
    assert {SERVICES[name]["pull_policy"] for name in OWN} == {"never"}
    (image,) = {SERVICES[name]["image"] for name in OWN}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert image == f"localhost/wattgate:{project['version']}"
    assert image in (DEPLOY / "compose.env.example").read_text()


def test_a_container_gets_more_time_to_stop_than_it_needs() -> None:
    (drain_limit,) = (field.le for field in Settings.model_fields["drain_limit"].metadata if hasattr(field, "le"))
    for name in OWN:
        assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > drain_limit
    (proxy_limit,) = re.findall(r"hard-stop-after (\d+)s", (DEPLOY / "proxies/haproxy.cfg").read_text())
    assert int(SERVICES["proxy"]["stop_grace_period"].removesuffix("s")) > int(proxy_limit)


async def test_health_check_of_valkey_fails_on_an_error(tmp_path: Path) -> None:
    """The client of this test is that of Redis, which has the same options."""
    client = required_program("redis-cli")
    _, program, *options = SERVICES["valkey"]["healthcheck"]["test"]
    assert program == "valkey-cli"
    async with redis_server(tmp_path, product="valkey") as server:
        await server.command("CONFIG", "SET", "requirepass", "right")
        for password, status in (("right", 0), ("wrong", 1)):
            check = await asyncio.create_subprocess_exec(
                *(client, "-p", str(server.port), *options), env=os.environ | {"REDISCLI_AUTH": password}
            )
            assert await check.wait() == status


async def test_valkey_stores_nothing_and_refuses_writes_when_it_is_full(tmp_path: Path) -> None:
    shell, option, command = SERVICES["valkey"]["command"]
    assert (shell, option) == ("sh", "-c")
    _, program, *options = shlex.split(command.replace("$$", "$"))
    assert (program, options[:2]) == ("valkey-server", ["--requirepass", "$REDISCLI_AUTH"])
    server = RedisServer(tmp_path, product="valkey")
    try:
        await server.start(*options[2:])
        configured = await server.command("CONFIG", "GET", "save", "appendonly", "maxmemory", "maxmemory-policy")
    finally:
        await server.kill()
    expected = {"save": "", "appendonly": "no", "maxmemory": str(512 * 2**20), "maxmemory-policy": "noeviction"}
    assert configured == expected
    assert "volumes" not in SERVICES["valkey"]


@pytest.mark.parametrize("name", SERVICES)
def test_service_depends_on_what_it_can_wait_for(name: str) -> None:
    needed = SERVICES[name].get("depends_on", {})
    for other, wait in needed.items():
        condition = wait.get("condition", "service_started")
        if condition == "service_completed_successfully":
            assert other == ONE_SHOT
        elif condition == "service_healthy":
            assert "test" in SERVICES[other]["healthcheck"]
        else:
            assert other in SERVICES


def test_mounted_files_and_volumes_exist() -> None:
    named = set()
    for service in SERVICES.values():
        for mount in service.get("volumes", []):
            source = mount["source"] if isinstance(mount, dict) else mount.split(":")[0]
            if not source.startswith("."):
                named.add(source)
            elif source != CERTIFICATES:
                assert (DEPLOY / source).exists(), source
    assert named == COMPOSE["volumes"].keys()


def test_certificate_is_where_the_proxy_reads_it() -> None:
    (mount,) = [one for one in SERVICES["proxy"]["volumes"] if isinstance(one, dict)]
    assert mount["source"] == CERTIFICATES
    (file,) = re.findall(r"ssl crt (\S+)", (DEPLOY / "proxies/haproxy.cfg").read_text())
    assert file == f"{mount['target']}/both.pem"
    assert "deploy/tls/both.pem" in (DEPLOY / "README.md").read_text()
    # without it, Docker makes an empty folder where the certificate is missing
    assert mount["bind"] == {"create_host_path": False}


def test_example_of_the_environment_has_each_variable_and_no_value() -> None:
    used = VARIABLE.findall(json.dumps(SERVICES))
    lines = [line for line in (DEPLOY / "compose.env.example").read_text().splitlines() if line and line[0] != "#"]
    assert sorted({name for name, _ in used}) == sorted(line.removesuffix("=") for line in lines)
    assert {kind for _, kind in used} == {"?"}  # without a value, nothing starts


@pytest.mark.parametrize("name", OWN)
def test_settings_and_command_of_a_service_exist(name: str, tmp_path: Path) -> None:
    given = settings_of(name)
    assert given.keys() <= Settings.model_fields.keys()
    values = {key: json.loads(value) if value.startswith("[") else value for key, value in given.items()}
    settings = Settings(_env_file=None, **cast(Any, values))
    assert settings.deliver is (name == "worker")
    shown = wattgate_in(tmp_path, *SERVICES[name]["command"], "--help")
    assert shown.returncode == 0, shown.stderr


def test_gateway_without_a_mail_server_needs_no_other_setting_of_mails() -> None:
    lines = "\n".join(f"WATTGATE_{name.upper()}" for name in MAIL_SETTINGS)
    assert set(lines.split()) <= set(re.findall(r"\w+", (DEPLOY / "README.md").read_text()))
    given = {key: value for key, value in settings_of(GATEWAYS[0]).items() if key not in MAIL_SETTINGS}
    values = {key: json.loads(value) if value.startswith("[") else value for key, value in given.items()}
    assert Settings(_env_file=None, **cast(Any, values)).smtp_url is None


def test_addresses_agree() -> None:
    (network,) = COMPOSE["networks"]["outside"]["ipam"]["config"]
    proxy = SERVICES["proxy"]["environment"]
    configured = (DEPLOY / "proxies/haproxy.cfg").read_text()
    for gateway, variable in zip(GATEWAYS, ("GATEWAY_ONE", "GATEWAY_TWO"), strict=True):
        address = SERVICES[gateway]["networks"]["outside"]["ipv4_address"]
        assert proxy[variable] == f"{address}:8000"
        assert f'"${{{variable}-' in configured
    fixed = [SERVICES[name]["networks"]["outside"]["ipv4_address"] for name in ("proxy", *GATEWAYS)]
    assert len(set(fixed)) == 3
    for address in fixed:
        assert ip_address(address) in ip_network(network["subnet"])
        assert ip_address(address) not in ip_network(network["ip_range"])
    # Docker's own address is that of all clients by IPv6, and Prometheus and Grafana are in the network too
    for name in OWN:
        assert json.loads(settings_of(name)["trusted_proxies"]) == [f"{fixed[0]}/32"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    exposed = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert exposed == {
        "proxy": ["443:443"],
        "prometheus": ["127.0.0.1:9090:9090"],
        "grafana": ["127.0.0.1:3000:3000"],
    }


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
