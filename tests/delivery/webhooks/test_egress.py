"""Egress policy: blocked and permitted URLs and addresses."""

from contextlib import suppress
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.delivery.egress import BlockedDestination, EgressPolicy, is_public, parse_destination

BYPASSES = [
    # other protocols
    "http://example.org/",
    "file:///etc/passwd",
    "gopher://example.org:70/_GET",
    "ftp://example.org/",
    "unix:///var/run/docker.sock",
    "https+unix://%2Fvar%2Frun%2Fdocker.sock/",
    "jar:https://example.org/!/",
    "data:text/plain,hello",
    "//example.org/",
    "https:/example.org/",
    "https:example.org",
    "",
    # IPv4, in usual and unusual forms
    "https://127.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://0/",
    "https://0.0.0.0/",
    "https://2130706433/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://0x7f.0.0.1/",
    "https://0x7f000001/",
    "https://0x7F.1/",
    "https://0x/",
    "https://127.0.0.01/",
    "https://0127.0.0.1/",
    "https://256.256.256.256/",
    "https://1.1.1.1.1/",
    "https://4294967297/",
    "https://127.0.0.1./",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://172.31.255.254/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://100.100.100.200/",
    "https://169.254.169.254/latest/meta-data/",
    "https://168.63.129.16/",
    "https://192.0.0.192/",
    "https://192.0.2.1/",
    "https://198.18.0.1/",
    "https://198.51.100.7/",
    "https://203.0.113.7/",
    "https://192.88.99.1/",
    "https://224.0.0.1/",
    "https://239.255.255.250/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    # IPv6
    "https://[::1]/",
    "https://[::]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[::127.0.0.1]/",
    "https://[::ffff:0:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b::8.8.8.8]/",
    "https://[64:ff9b:1::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[2002:808:808::1]/",
    "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "https://[2600:1f18::5efe:127.0.0.1]/",
    "https://[2600:1f18::200:5efe:a00:1]/",
    "https://[fe80::1]/",
    "https://[fe80::1%eth0]/",
    "https://[fe80::1%25eth0]/",
    "https://[fd00:ec2::254]/",
    "https://[fc00::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://[100::1]/",
    "https://[5f00::1]/",
    "https://[v1.fe80::a]/",
    "https://[127.0.0.1]/",
    "https://[::1/",
    "https://::1/",
    # misleading hosts
    "https://example.org@127.0.0.1/",
    "https://user:password@example.org/",
    "https://127.0.0.1#@example.org/",
    "https://example.org#fragment",
    "https://example.org\\@127.0.0.1/",
    "https://127.0.0.1\\.example.org/",
    "https:\\\\example.org/",
    "https://example.org%2f@127.0.0.1/",
    "https://127.0.0.1%00.example.org/",
    "https://%31%32%37.0.0.1/",
    "https://localhost/",
    "https://metadata/",
    "https://example.org./",
    "https://.example.org/",
    "https://example..org/",
    "https://-example.org/",
    "https://exa_mple.org/",
    "https://*.example.org/",
    "https://",
    "https:///path",
    # other characters
    "https://\uff11\uff12\uff17.0.0.1/",
    "https://\u2460\u2461\u2466.0.0.1/",
    "https://127\u30020\u30020\u30021/",
    "https://ex\u0430mple.org/",
    "https://example.org\u3002evil.test/",
    "https://exam\u00adple.org/",
    "https://example.org/\r\nHost: evil.test",
    "https://example.org/ HTTP/1.1\r\n\r\nGET /",
    "https://example.org/\tpath",
    " https://example.org/",
    "https://example.org/\n",
    "https://example.org/\x00",
    "https://example.org/caf\u00e9",
    "https://example.org/%zz",
    "https://example.org/{a}",
    # ports
    "https://example.org:0/",
    "https://example.org:22/",
    "https://example.org:25/",
    "https://example.org:6379/",
    "https://example.org:80/",
    "https://example.org:65979/",
    "https://example.org:+443/",
    "https://example.org:443:80/",
    "https://example.org:/",
    # lengths
    "https://" + "a" * 64 + ".org/",
    "https://" + ".".join(["a" * 60] * 5) + ".org/",
    "https://example.org/" + "a" * 2_048,
]


def test_list_of_bypasses_has_more_than_sixty_different_urls() -> None:
    assert len(set(BYPASSES)) == len(BYPASSES) > 60


def test_bypass_is_blocked(subtests: pytest.Subtests) -> None:
    for url in BYPASSES:
        with subtests.test(repr(url[:80])), pytest.raises(BlockedDestination):
            parse_destination(url, EgressPolicy())


@pytest.mark.parametrize(
    ("url", "host", "port", "target", "authority"),
    [
        ("https://Example.ORG", "example.org", 443, "/", "example.org"),
        ("HTTPS://example.org:443/a", "example.org", 443, "/a", "example.org"),
        ("https://example.org:8443?a=b/c?d", "example.org", 8443, "/?a=b/c?d", "example.org:8443"),
        ("https://xn--caf-dma.example/%C3%A9;x=1", "xn--caf-dma.example", 443, "/%C3%A9;x=1", "xn--caf-dma.example"),
        ("https://1.1.1.1/", "1.1.1.1", 443, "/", "1.1.1.1"),
        ("https://7.example.org/", "7.example.org", 443, "/", "7.example.org"),
        ("https://[2606:4700:4700:0::1111]:8443/", "2606:4700:4700::1111", 8443, "/", "[2606:4700:4700::1111]:8443"),
    ],
)
def test_plain_url_is_parsed(url: str, host: str, port: int, target: str, authority: str) -> None:
    destination = parse_destination(url, EgressPolicy())
    assert (destination.scheme, destination.host, destination.port, destination.target) == ("https", host, port, target)
    assert destination.authority == authority


def test_http_must_be_allowed_by_the_policy() -> None:
    plain = EgressPolicy(allow_http=True)
    assert parse_destination("http://example.org/", plain).port == 80
    assert parse_destination("http://example.org:8080/", plain).authority == "example.org:8080"
    with pytest.raises(BlockedDestination, match="has a port"):
        parse_destination("http://example.org:443/", plain)
    with pytest.raises(BlockedDestination, match="not an https"):
        parse_destination("ftp://example.org/", plain)


def test_only_allowed_networks_are_reachable() -> None:
    intranet = EgressPolicy(allowed_networks=(ip_network("10.1.0.0/16"), ip_network("fd00:1::/32")))
    assert parse_destination("https://10.1.2.3:9000/", intranet).port == 9000
    assert parse_destination("https://[fd00:1::5]/", intranet).host == "fd00:1::5"
    assert parse_destination("https://hooks:9000/", intranet).host == "hooks"
    for url in ("https://10.2.0.1/", "https://127.0.0.1/", "https://1.1.1.1:9000/", "https://[::ffff:10.1.2.3]/"):
        with pytest.raises(BlockedDestination):
            parse_destination(url, intranet)


def test_internet_addresses_are_public() -> None:
    addresses = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1", "2a00:1450::1"]
    assert [address for address in addresses if not is_public(ip_address(address))] == []


MARKS = st.text(alphabet=":/@\\?#%.[]-_0149afx&=; \t\r\n\x00\u3002\uff0f\uff20", max_size=10)
HOSTS = st.sampled_from(["example.org", "1.1.1.1", "[2606:4700::1111]", ""])
URLS = st.tuples(st.sampled_from(["https://", "https:", ""]), MARKS, HOSTS, MARKS, HOSTS, MARKS).map("".join)


@given(st.one_of(URLS, MARKS.map("https://example.org".__add__), st.text()))
def test_other_parsers_agree_on_the_destination_of_an_accepted_url(url: str) -> None:
    with suppress(BlockedDestination):
        destination = parse_destination(url, EgressPolicy())
        assert url.isascii()
        assert url.isprintable()
        for parsed in (urlsplit(url), httpx.URL(url)):
            assert (parsed.scheme, parsed.port or 443) == ("https", destination.port)
            host = parsed.hostname if isinstance(parsed, SplitResult) else parsed.host
            assert host is not None
            assert host.lower() == destination.host or ip_address(host) == ip_address(destination.host)
        assert destination.host_ip is None or is_public(destination.host_ip)
