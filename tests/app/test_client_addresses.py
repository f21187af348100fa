"""The address of a client behind proxies."""

from ipaddress import ip_network

import pytest

from wattgate.app.server.gate.client_addresses import (
    DEVICE_COOKIE,
    MAX_DEVICE_LENGTH,
    address_groups,
    begin_client,
    device_cookie,
    parse_address,
    resolve_client_address,
)

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.every_case("each case is another way in which a client could choose the address that limits count")
@pytest.mark.parametrize(
    ("peer", "headers", "address"),
    [
        ("203.0.113.9", {"x-forwarded-for": "198.51.100.1"}, "203.0.113.9"),  # not a proxy
        ("10.0.0.1", {}, "10.0.0.1"),
        ("10.0.0.1", {"x-forwarded-for": "198.51.100.1"}, "198.51.100.1"),
        ("10.0.0.1", {"x-forwarded-for": "1.1.1.1, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"),
        ("10.0.0.1", {"x-forwarded-for": "10.0.0.3, 10.0.0.2"}, "10.0.0.3"),
        ("10.0.0.1", {"x-forwarded-for": "1.1.1.1, unknown"}, "10.0.0.1"),
        ("10.0.0.1", {"x-forwarded-for": "198.51.100.1:4711"}, "198.51.100.1"),
        ("fd00::1", {"x-forwarded-for": "[2001:db8::1]:4711"}, "2001:db8::1"),
        ("::ffff:10.0.0.1", {"x-forwarded-for": "198.51.100.1"}, "198.51.100.1"),
        ("10.0.0.1", {"forwarded": 'for=1.1.1.1, For="[2001:db8::1]:4711";proto=https'}, "2001:db8::1"),
        ("10.0.0.1", {"forwarded": "for=198.51.100.1;by=10.0.0.1, for=10.0.0.2"}, "198.51.100.1"),
        ("10.0.0.1", {"forwarded": "for=_hidden"}, "10.0.0.1"),
        ("10.0.0.1", {"forwarded": "proto=https"}, "10.0.0.1"),
        # a client adds the header that the proxy does not set
        ("10.0.0.1", {"x-forwarded-for": "1.1.1.1", "forwarded": "for=198.51.100.1"}, "10.0.0.1"),
        ("10.0.0.1", {"x-forwarded-for": "198.51.100.1", "forwarded": "for=198.51.100.1"}, "198.51.100.1"),
        ("10.0.0.1", {"x-forwarded-for": ", ".join(["10.0.0.2"] * 100_000)}, "10.0.0.2"),
        ("unix", {"x-forwarded-for": "198.51.100.1"}, "unix"),
    ],
)
def test_client_is_the_rightmost_address_that_is_not_trusted(peer: str, headers: dict[str, str], address: str) -> None:
    assert resolve_client_address(peer, headers, TRUSTED) == address


def test_without_trusted_proxies_the_peer_is_the_client() -> None:
    assert resolve_client_address("127.0.0.1", {"x-forwarded-for": "1.1.1.1"}, []) == "127.0.0.1"


@pytest.mark.parametrize(
    ("address", "group"),
    [
        ("198.51.100.1", "198.51.100.1"),
        ("::ffff:198.51.100.1", "198.51.100.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
    ],
)
def test_addresses_are_limited_by_group(address: str, group: str) -> None:
    assert address_groups(address)[0] == group


@pytest.mark.parametrize("text", ["", "a", "1.2.3", "[::1", "1.2.3.4.5", "::1::", "999.1.1.1"])
def test_malformed_addresses_are_none(text: str) -> None:
    assert parse_address(text) is None or text == "[::1"


@pytest.mark.parametrize(
    ("cookies", "device"),
    [
        ("", None),
        ("a=b", None),
        (f"{DEVICE_COOKIE}=Ab-9_", "Ab-9_"),
        (f"a=b; {DEVICE_COOKIE}=x; c=d", "x"),
        (f"a=b;{DEVICE_COOKIE}=x;c=d", "x"),
        (f"other_{DEVICE_COOKIE}=x", None),
        (f"{DEVICE_COOKIE}=", None),
        (f"{DEVICE_COOKIE}={MAX_DEVICE_LENGTH * 'x'}", MAX_DEVICE_LENGTH * "x"),
        (f"{DEVICE_COOKIE}={MAX_DEVICE_LENGTH * 'x'}x", None),
        (f'{DEVICE_COOKIE}="x"', None),
        (f'{DEVICE_COOKIE}="{4 * (chr(92) + "170")}"', None),  # http.cookies decodes it to xxxx
        (f'{DEVICE_COOKIE}="{30_000 * chr(92)}"', None),  # http.cookies needs seconds for it (CVE-2024-7592)
    ],
)
def test_device_is_found_in_the_header_of_all_cookies(cookies: str, device: str | None) -> None:
    scope = {"type": "http", "scheme": "http", "client": ("198.51.100.1", 0)}
    assert begin_client(scope, {"cookie": cookies}, [])[1].device == device


@pytest.mark.parametrize(
    ("scheme", "cookies", "device"),
    [
        ("https", f"__Host-{DEVICE_COOKIE}=x", "x"),
        ("wss", f"__Host-{DEVICE_COOKIE}=x", "x"),
        ("https", f"{DEVICE_COOKIE}=tossed", None),
        ("https", f"{DEVICE_COOKIE}=tossed; __Host-{DEVICE_COOKIE}=x", "x"),
        ("http", f"__Host-{DEVICE_COOKIE}=x", None),
        ("https", f'__Host-{DEVICE_COOKIE}="{chr(92)}170"', None),
    ],
)
def test_device_of_tls_has_a_name_that_no_other_host_can_set(scheme: str, cookies: str, device: str | None) -> None:
    """Browsers accept a cookie with this prefix only over TLS, for all paths, and without a domain (RFC 6265bis)."""
    scope = {"type": "http", "scheme": scheme, "client": ("198.51.100.1", 0)}
    assert begin_client(scope, {"cookie": cookies}, [])[1].device == device
    name, *attributes = device_cookie("new", is_secure=scheme != "http").split("; ")
    assert name == ("" if scheme == "http" else "__Host-") + f"{DEVICE_COOKIE}=new"
    assert {"Path=/", "HttpOnly", "SameSite=Lax"} < set(attributes)
    assert ("Secure" in attributes) is (scheme != "http")
    assert not any(attribute.startswith("Domain") for attribute in attributes)


@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        ("https://energy.example", True),
        ("http://energy.example", True),
        ("https://energy.example:8443", False),
        ("https://other.example", False),
        ("null", False),
        ("energy.example", False),
        ("", False),
        ("https://[energy.example", False),
        ("https://[::1", False),
        ("https://\u2100energy.example", False),
    ],
)
def test_page_of_the_gateway_is_known_by_its_origin_whatever_the_header_has(origin: str, is_own: bool) -> None:
    """`urlsplit` raises ValueError for brackets that do not match, which answered 500 to anybody."""
    scope = {"type": "http", "scheme": "https", "client": ("198.51.100.1", 0)}
    assert begin_client(scope, {"origin": origin, "host": "energy.example"}, [])[1].keeps_devices is is_own


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("2001:db8:1:2::3", "2001:db8:1::/48"),
        ("[2001:db8:1:ffff::1]:443", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/48"),
        ("::ffff:192.0.2.1", None),
        ("192.0.2.1", None),
        ("a name", None),
        ("", None),
    ],
)
def test_ipv6_networks_of_48_bits_share_a_limit(address: str, network: str | None) -> None:
    assert address_groups(address)[1] == network
