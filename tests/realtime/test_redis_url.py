"""URLs of Redis: a single server, sentinels and cluster nodes, with their credentials."""

import pytest

from wattgate.realtime.redis_url import RedisMode, RedisServers


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("localhost", "is not an address"),
        ("http://localhost", "is not an address"),
        ("redis://", "is not an address"),
        ("redis://localhost/one", "is not an address"),
        ("redis://localhost/0?ssl=no", "has the unknown option 'ssl'"),
        ("redis://h:x", "has an invalid port"),
        ("redis://one,two", "names several servers"),
        ("redis+sentinel://one,two/0", r"names no primary: add \?master=NAME"),
        ("redis+sentinel://one,,two/0?master=gate", "is not an address"),
        ("redis+sentinel://one?master=gate&timeout=3", "has the unknown option 'timeout'"),
        ("redis+cluster://one,two/1", "Redis Cluster has only database 0"),
        ("redis+cluster://one?master=gate", "has the unknown option 'master'"),
    ],
)
def test_invalid_url_is_rejected(url: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        RedisServers.from_url(url)


def test_single_server_has_credentials_but_its_password_is_not_printed() -> None:
    servers = RedisServers.from_url("rediss://gate:pass%40word@redis.example/3")
    address = servers.login
    assert servers.seeds == (address,)
    assert (address.host, address.port, address.tls, address.database) == ("redis.example", 6379, True, 3)
    assert (address.username, address.password) == ("gate", "pass@word")
    assert "pass@word" not in f"{servers} {servers!r}"


def test_password_without_a_user() -> None:
    address = RedisServers.from_url("redis://:secret@redis.example").login
    assert (address.username, address.password) == ("", "secret")


def test_sentinels_have_credentials_of_their_own() -> None:
    url = "rediss+sentinel://gate:secret@one,[::1]:5000/2?master=gate&sentinel_username=watch&sentinel_password=p%26w"
    servers = RedisServers.from_url(url)
    assert (servers.mode, servers.primary_name) == (RedisMode.SENTINEL, "gate")
    assert [(seed.host, seed.port) for seed in servers.seeds] == [("one", 26379), ("::1", 5000)]
    assert {(seed.username, seed.password, seed.database, seed.tls) for seed in servers.seeds} == {
        ("watch", "p&w", 0, True)
    }
    assert (servers.login.username, servers.login.password, servers.login.database) == ("gate", "secret", 2)
    assert str(servers) == "one:26379,::1:5000 (gate)"


def test_cluster_nodes_share_credentials() -> None:
    servers = RedisServers.from_url("redis+cluster://:secret@one:7000,two")
    assert servers.mode is RedisMode.CLUSTER
    assert [(seed.host, seed.port, seed.password) for seed in servers.seeds] == [
        ("one", 7000, "secret"),
        ("two", 6379, "secret"),
    ]
