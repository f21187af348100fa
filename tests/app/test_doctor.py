"""`wattgate doctor` and the start of `serve` and `worker`: each problem of a deployment is named with its remedy."""

import asyncio
import json
import re
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import trustme
from sqlalchemy.engine import make_url

from tests.support.certificates import issue_certificates
from tests.support.command import wattgate_in
from tests.support.pgbouncer import pgbouncer
from tests.support.postgresql_server import postgresql_server
from tests.support.processes import process
from tests.support.redis_server import redis_server
from tests.support.smtp import mail_server
from tests.support.sqlite_files import execute
from wattgate.app.cli.checks.certificates import TlsServer, TlsStart, check_certificate, tls_servers
from wattgate.app.cli.checks.hardening import check_bounds, check_files, check_interpreter
from wattgate.app.cli.checks.result import CheckState, check_clock
from wattgate.app.cli.checks.several_gateways import check_several_gateways
from wattgate.app.server.components import build_components
from wattgate.app.settings import Settings
from wattgate.app.workers.background import log_server_problems
from wattgate.clock import utc_now
from wattgate.db.connections.engine import Database
from wattgate.db.readings.partitions import ensure_upcoming_partitions
from wattgate.realtime.bus.redis import find_state_problems
from wattgate.realtime.redis_url import TlsFiles


async def results_of(folder: Path, expected_status: int, **settings: str) -> dict[str, list[Any]]:
    """Return the results of `wattgate doctor` by state."""
    outcome = await asyncio.to_thread(wattgate_in, folder, "doctor", "--json", **settings)
    assert outcome.returncode == expected_status, outcome.stderr
    found: dict[str, list[Any]] = {"ok": [], "warning": [], "error": []}
    for row in json.loads(outcome.stdout):
        found[row["state"]].append(f"{row['subject']}: {row['text']}")
    return found


@pytest.mark.parametrize(
    ("revision", "text"),
    [
        ("0000", "does not have the schema of this version: its revision is 0000, and this version needs"),
        ("9999", "has the schema of a newer version: its revision is 9999"),
    ],
)
def test_another_schema_is_named_at_start_and_by_doctor(tmp_path: Path, revision: str, text: str) -> None:
    assert wattgate_in(tmp_path, "db", "upgrade").returncode == 0
    execute(tmp_path, "UPDATE alembic_version SET version_num = ?", [revision])
    remedy = "Install the newer version" if revision == "9999" else "run wattgate db upgrade"
    for command in ("serve", "worker", "doctor"):
        refused = wattgate_in(tmp_path, command)
        assert refused.returncode == 1, (command, refused.stderr)
        printed = refused.stdout if command == "doctor" else refused.stderr
        assert f"atabase {tmp_path / 'wattgate.sqlite3'} {text}" in " ".join(printed.split())
        assert remedy in printed


async def test_all_checks_run_after_an_error(tmp_path: Path) -> None:
    found = await results_of(
        tmp_path,
        1,
        REDIS_URL="redis://127.0.0.1:1",
        SMTP_URL="smtp://127.0.0.1:1",
        MAIL_FROM="a@energy.example",
        PUBLIC_URL="https://energy.example",
        LINK_KEY="k" * 32,
    )
    assert [text.partition(":")[0] for text in found["error"]] == ["database", "Redis", "mail server"]


def test_an_empty_folder_stays_empty(tmp_path: Path) -> None:
    checked = wattgate_in(tmp_path, "doctor", without=("SECRET_KEYS",))
    assert checked.returncode == 1
    file = tmp_path / "wattgate.sqlite3"
    assert f"ERROR   database   the file {file} does not exist. To correct that, check WATTGATE_DATABASE_URL" in (
        checked.stdout
    )
    assert list(tmp_path.iterdir()) == []


def test_interpreter_is_compared_with_the_releases_that_correct_it() -> None:
    expected = {
        (3, 11, 7): {"CVE-2024-4032", "CVE-2024-6923", "CVE-2024-7592", "CVE-2024-8088"},
        (3, 11, 10): set[str](),
        (3, 12, 5): {"CVE-2024-7592", "CVE-2024-8088"},
        (3, 12, 6): set(),
        (3, 13, 0): set(),
    }
    for version, ids in expected.items():
        result = check_interpreter(version)
        assert set(re.findall(r"CVE-[0-9-]+", result.text)) == ids
        assert result.state is (CheckState.WARNING if ids else CheckState.OK)
    assert check_interpreter((3, 11, 7)).text.endswith("Install Python 3.11.10 or newer")


def test_bounds_that_are_off_or_far_above_their_default_are_named() -> None:
    usual = Settings(_env_file=None, database_url="sqlite:///:memory:")
    assert check_bounds(usual).state is CheckState.OK
    chosen = {"max_connections": 100_000, "budget_seconds": 86_400, "address_codes": 1_000, "head_seconds": 60.0}
    assert check_bounds(usual.model_copy(update=chosen)).state is CheckState.OK
    opened = check_bounds(
        usual.model_copy(update={"caller_budget": 0, "max_body_bytes": 2**40, "address_logins": 10**9})
    )
    assert opened.state is CheckState.WARNING
    assert "WATTGATE_CALLER_BUDGET is 0, which means no limit" in opened.text
    assert "WATTGATE_MAX_BODY_BYTES is 1,099,511,627,776, more than 100 times its default" in opened.text
    assert "WATTGATE_ADDRESS_LOGINS is 1,000,000,000" in opened.text


POSTGRESQL, REDIS = "postgresql+asyncpg://gateway@db.example/wattgate", "redis://redis.example"


@pytest.mark.parametrize(
    ("chosen", "state", "texts"),
    [
        ({"database_url": "sqlite:///home.sqlite3"}, CheckState.OK, ["Two need PostgreSQL and Redis"]),
        (
            {"database_url": "sqlite:///home.sqlite3", "redis_url": REDIS},
            CheckState.WARNING,
            ["home.sqlite3 belongs to this machine", "WATTGATE_SECRET_KEYS", "WATTGATE_PUBLIC_URL"],
        ),
        ({"database_url": POSTGRESQL}, CheckState.WARNING, ["WATTGATE_REDIS_URL", "WATTGATE_SECRET_KEYS"]),
        (
            {
                "database_url": POSTGRESQL,
                "redis_url": REDIS,
                "secret_keys_file": Path("keys"),
                "public_url": "https://a.example",
            },
            CheckState.OK,
            ["Give each the same values"],
        ),
    ],
    ids=["alone", "redis beside sqlite", "postgresql alone", "complete"],
)
def test_settings_that_a_second_gateway_lacks_are_named(
    chosen: dict[str, Any], state: CheckState, texts: list[str]
) -> None:
    usual = Settings(_env_file=None, database_url="sqlite:///:memory:")
    unset = {"redis_url": None, "secret_keys": None, "secret_keys_file": None, "public_url": None}
    found = check_several_gateways(usual.model_copy(update=unset | chosen))
    assert found.state is state
    assert [text for text in texts if text not in found.text] == []


def test_proxies_that_are_everybody_are_named() -> None:
    """Each client then writes the address that limits count, and the maximum of its connections does not apply."""
    usual = Settings(_env_file=None, database_url="sqlite:///:memory:")
    for network, state in {
        "0.0.0.0/0": CheckState.WARNING,
        "128.0.0.0/1": CheckState.WARNING,
        "::/0": CheckState.WARNING,
        "10.0.0.0/8": CheckState.OK,
        "fc00::/7": CheckState.OK,
    }.items():
        result = check_bounds(usual.model_copy(update={"trusted_proxies": [ip_network(network)]}))
        assert result.state is state, network
        assert (f"WATTGATE_TRUSTED_PROXIES has {network}" in result.text) is (state is CheckState.WARNING)


def test_files_that_others_can_read_are_named(tmp_path: Path) -> None:
    """The database, and the log of SQLite and the keys beside it."""
    database, keys = tmp_path / "old.sqlite3", tmp_path / "old.sqlite3.keys"
    settings = Settings(_env_file=None, database_url=f"sqlite:///{database}")
    assert check_files(settings) == []
    log = tmp_path / "old.sqlite3-wal"
    for file in (database, log, keys):
        file.touch(mode=0o600)
    assert [result.state for result in check_files(settings)] == [CheckState.OK]
    for file, mode in ((database, 0o644), (log, 0o640), (keys, 0o604)):
        file.chmod(mode)
        (result,) = check_files(settings)
        assert result.text == f"other users can read {file}. Run: chmod 600 {file}"
        file.chmod(0o600)


def test_every_line_of_the_output_says_how_its_check_ended(tmp_path: Path) -> None:
    assert wattgate_in(tmp_path, "db", "upgrade").returncode == 0
    checked = wattgate_in(tmp_path, "doctor", REDIS_URL="redis://127.0.0.1:1")
    assert checked.returncode == 1
    assert checked.stderr == ""
    lines = {line[8:].partition("   ")[0]: line for line in checked.stdout.splitlines()}
    assert lines["database"].startswith("ok      database   answers")
    assert lines["log-in pages"].startswith("warning log-in pages   there is no application")
    assert lines["Redis"].startswith("ERROR   Redis   cannot be used: Redis at 127.0.0.1:1 does not answer")
    assert lines["Redis"].endswith(". Check WATTGATE_REDIS_URL, and that Redis runs")


@pytest.mark.parametrize("command", ["serve", "worker", "doctor"])
async def test_postgresql_without_tables_is_named_without_its_password(
    postgresql_url: str, tmp_path: Path, command: str
) -> None:
    url = postgresql_url.replace("//postgres@", "//postgres:hidden@")
    assert "hidden" in url
    refused = await asyncio.to_thread(wattgate_in, tmp_path, command, DATABASE_URL=url)
    assert refused.returncode == 1
    name = make_url(url).database
    assert re.search(rf"database +postgresql://\S*/{name}\S* has no schema", refused.stdout + refused.stderr)
    assert "hidden" not in refused.stdout + refused.stderr


async def test_redis_that_evicts_is_an_error(tmp_path: Path) -> None:
    await asyncio.to_thread(wattgate_in, tmp_path, "db", "upgrade")
    async with redis_server(tmp_path, "--maxmemory-policy", "allkeys-lru") as redis:
        found = await results_of(tmp_path, 1, REDIS_URL=redis.url)
        assert len(found["error"]) == 1
        assert found["error"][0].startswith("Redis: has the eviction policy allkeys-lru")
        assert found["error"][0].endswith("set maxmemory-policy to noeviction")
        assert "clock and Redis: agree" in found["ok"]
        await redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        assert "Redis: answers" in (await results_of(tmp_path, 0, REDIS_URL=redis.url))["ok"]
        await redis.command("CONFIG", "SET", "maxmemory", "1")
        full = await results_of(tmp_path, 1, REDIS_URL=redis.url)
        assert full["error"][0].endswith("rejects changes: increase maxmemory")


async def test_gateway_logs_that_redis_evicts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with redis_server(tmp_path, "--maxmemory-policy", "volatile-lru") as redis:
        settings = Settings(
            _env_file=None, database_url=f"sqlite:///{tmp_path / 'gateway.sqlite3'}", redis_url=redis.url
        )
        components = build_components(settings)
        await log_server_problems(components.database, components.bus)
        await components.bus.__aexit__()
        await components.database.close()
    assert "Redis has the eviction policy volatile-lru" in caplog.text
    assert "set maxmemory-policy to noeviction" in caplog.text


@pytest.mark.long("a worker process; the doctor's own checks stay in the short form")
async def test_worker_process_logs_problems_at_its_start(tmp_path: Path) -> None:
    upgraded = await asyncio.to_thread(wattgate_in, tmp_path, "db", "upgrade")
    assert upgraded.returncode == 0, upgraded.stderr
    async with redis_server(tmp_path, "--maxmemory-policy", "volatile-lru") as redis:
        async with process("worker", folder=tmp_path, REDIS_URL=redis.url) as worker:
            await worker.logs("Redis has the eviction policy volatile-lru")
            assert "set maxmemory-policy to noeviction" in worker.log


def test_a_replica_of_redis_is_named() -> None:
    (problem,) = find_state_problems({"role": "slave"})
    assert problem.endswith("set WATTGATE_REDIS_URL to the primary")
    assert find_state_problems({"role": "master", "maxmemory_policy": "noeviction"}) == []


async def test_postgresql_that_is_read_only_or_lacks_partitions_is_named(tmp_path: Path) -> None:
    async with postgresql_server() as server:
        url = server.url
        created = await asyncio.to_thread(wattgate_in, tmp_path, "db", "upgrade", DATABASE_URL=url)
        assert created.returncode == 0, created.stderr
        database = Database(url)
        async with database.engine.begin() as transaction:
            await ensure_upcoming_partitions(transaction, utc_now())
        await database.close()
        found = await results_of(tmp_path, 0, DATABASE_URL=url)
        assert "partitions: this month and the next have partitions" in found["ok"]
        assert "clock and database: agree" in found["ok"]
        assert any(text.startswith("database: the role postgres is a superuser") for text in found["warning"])
        connection = await asyncpg.connect(url.replace("+asyncpg", ""))
        try:
            for row in await connection.fetch(
                "SELECT inhrelid::regclass AS name FROM pg_inherits WHERE inhparent = 'reading'::regclass"
            ):
                await connection.execute(f"DROP TABLE {row['name']}")
            await connection.execute("ALTER ROLE postgres SET default_transaction_read_only = on")
        finally:
            await connection.close()
        broken = await results_of(tmp_path, 1, DATABASE_URL=url)
        assert any(text.startswith("partitions: missing: reading_") for text in broken["warning"])
        assert any("is read-only: set default_transaction_read_only" in text for text in broken["error"])
        for command in ("serve", "worker"):
            refused = await asyncio.to_thread(wattgate_in, tmp_path, command, DATABASE_URL=url)
            assert (refused.returncode, "The database is read-only" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("offset", "state"),
    [(0.2, CheckState.OK), (-1.5, CheckState.WARNING), (31.0, CheckState.ERROR), (-3600.0, CheckState.ERROR)],
)
def test_clocks_that_differ_are_named(offset: float, state: CheckState) -> None:
    result = check_clock("database", offset)
    assert result.state is state
    assert (state is CheckState.OK) != ("NTP" in result.text)


@pytest.mark.parametrize("starttls", [False, True])
async def test_certificates_are_checked(tmp_path: Path, starttls: bool) -> None:
    start = TlsStart.SMTP if starttls else TlsStart.IMMEDIATE
    authority = trustme.CA()
    ca_file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    for days, state in ((100, CheckState.OK), (10, CheckState.WARNING), (-1, CheckState.ERROR)):
        certificate = authority.issue_cert(
            "127.0.0.1",
            not_before=datetime.now(UTC) - timedelta(days=30),
            not_after=datetime.now(UTC) + timedelta(days=days),
        )
        context = trustme_context(certificate)
        async with mail_server(starttls=context if starttls else None, tls=None if starttls else context) as server:
            checked = TlsServer("mail server", "127.0.0.1", server.port, start, TlsFiles(ca_file))
            result = await check_certificate(checked)
            assert result.state is state, result
            assert ("expired" in result.text) == (days < 0)
            unknown = await check_certificate(TlsServer("mail server", "127.0.0.1", server.port, start))
            assert unknown.state is CheckState.ERROR
            assert "trusted ones" in unknown.text


@pytest.mark.parametrize("days", [100, -1])
async def test_certificate_of_the_database_is_checked(
    postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """PgBouncer ends TLS, as the server of the test has none."""
    files = issue_certificates(tmp_path, days=days)
    async with pgbouncer(postgresql_url, tls=files) as pooler:
        states = {}
        for mode in ("disable", "require", "verify-ca", "verify-full"):
            monkeypatch.setenv("PGSSLROOTCERT", str(files.ca_file))
            url = f"{pooler.url_of(postgresql_url)}?ssl={mode}"
            found = tls_servers(Settings(_env_file=None, database_url=url))
            states[mode] = [(await check_certificate(server)).state for server in found]
    state = CheckState.OK if days > 0 else CheckState.ERROR
    assert states == {"disable": [], "require": [state], "verify-ca": [state], "verify-full": [state]}


async def test_database_with_a_certificate_of_another_authority_or_without_tls_is_named(
    postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("PGSSLROOTCERT", str(issue_certificates(tmp_path / "other").ca_file))
    async with pgbouncer(postgresql_url, tls=issue_certificates(tmp_path)) as pooler:
        url = f"{pooler.url_of(postgresql_url)}?ssl=verify-full"
        (server,) = tls_servers(Settings(_env_file=None, database_url=url))
        result = await check_certificate(server)
        assert result.state is CheckState.ERROR
        assert "trusted ones" in result.text
    async with pgbouncer(postgresql_url) as pooler:
        (server,) = tls_servers(Settings(_env_file=None, database_url=pooler.url_of(postgresql_url)))
        assert (await check_certificate(server)).text == "the server has no TLS. The connection stays on this machine"


def trustme_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    """Return the context of a server with a certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    return context
