"""Redis with TLS and an authority of its own: settings, sentinels, and the errors of wrong files."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.certificates import issue_certificates
from tests.support.command import wattgate_in
from tests.support.redis_sentinel import sentinel_servers
from tests.support.redis_server import RedisServer, TlsCertificates
from tests.support.watching import reading, watching
from wattgate.app.settings import Settings
from wattgate.errors import Unavailable
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.redis_url import SYSTEM_TLS, TlsFiles

pytestmark = pytest.mark.program  # the wheel's server has no TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> TlsCertificates:
    return issue_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
async def tls_redis(tmp_path: Path, certificates: TlsCertificates) -> AsyncIterator[RedisServer]:
    server = RedisServer(tmp_path, tls=certificates)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()


def client_files(certificates: TlsCertificates) -> TlsFiles:
    return TlsFiles(certificates.ca_file, certificates.certificate_file, certificates.key_file)


async def test_events_travel_over_tls(tls_redis: RedisServer, certificates: TlsCertificates) -> None:
    async with watching(RedisBus(create_finder(tls_redis.url, client_files(certificates)))) as watcher:
        await watcher.bus.open_topics(["topic"])
        await watcher.bus.publish([reading("topic", 1)])
        await watcher.until(lambda: watcher.values("topic") == [1])


@pytest.mark.parametrize("has_authority", [False, True])
async def test_server_refuses_or_is_refused(
    tls_redis: RedisServer, certificates: TlsCertificates, has_authority: bool
) -> None:
    files = TlsFiles(certificates.ca_file) if has_authority else SYSTEM_TLS
    reason = "does not answer" if has_authority else "certificate verify failed"
    async with RedisBus(create_finder(tls_redis.url, files)) as bus:
        with pytest.raises(Unavailable, match=reason):
            await bus.check()


@pytest.mark.long("Sentinel with TLS; Sentinel and TLS alone stay in the short form")
async def test_sentinels_and_their_servers_use_tls(tmp_path: Path, certificates: TlsCertificates) -> None:
    async with sentinel_servers(tmp_path, certificates) as servers:
        bus = RedisBus(create_finder(servers.url, client_files(certificates)))
        async with watching(bus) as watcher:
            await watcher.bus.open_topics(["topic"])
            await servers.fail_over()
            await watcher.until(lambda: ("topic", False) in watcher.resyncs)


async def test_doctor_checks_redis_and_its_certificate(
    tmp_path: Path, tls_redis: RedisServer, certificates: TlsCertificates
) -> None:
    await asyncio.to_thread(wattgate_in, tmp_path, "db", "upgrade")
    files = {
        "REDIS_CA_FILE": str(certificates.ca_file),
        "REDIS_CERTIFICATE_FILE": str(certificates.certificate_file),
        "REDIS_KEY_FILE": str(certificates.key_file),
    }
    checked = await asyncio.to_thread(wattgate_in, tmp_path, "doctor", REDIS_URL=tls_redis.url, **files)
    assert checked.returncode == 0, checked.stderr
    assert "certificate of the Redis   ends in" in checked.stdout
    refused = await asyncio.to_thread(wattgate_in, tmp_path, "doctor", REDIS_URL=tls_redis.url)
    assert refused.returncode == 1
    assert "certificate of the Redis   is not valid" in refused.stdout


@pytest.mark.parametrize("name", ["redis_ca_file", "redis_certificate_file"])
def test_file_that_is_missing_or_no_pem_is_an_invalid_setting(tmp_path: Path, name: str) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("nothing")
    for file in (broken, tmp_path / "missing.pem"):
        with pytest.raises(ValidationError, match="cannot be read as PEM"):
            Settings(_env_file=None, redis_url="rediss://redis.example", **{name: file})  # type: ignore[arg-type]


def test_files_for_tls_need_a_url_with_tls(certificates: TlsCertificates) -> None:
    with pytest.raises(ValidationError, match="write WATTGATE_REDIS_URL with rediss instead of redis"):
        Settings(_env_file=None, redis_url="redis://redis.example", redis_ca_file=certificates.ca_file)
