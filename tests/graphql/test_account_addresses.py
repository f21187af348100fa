"""E-mail addresses of accounts: the rule at each entry, and stored addresses from before the rule."""

import pytest

from tests.support.house import House
from wattgate.delivery.mail_addresses import NotMailable, check_address, check_line, extract_addresses, parse_mailbox

BAD_ADDRESSES = {
    "60,000 characters with encoded words": "=?x" * 20_000 + "@x.example",
    "a short encoded word": "=?x@x.example",
    "255 octets": "a" * 60 + "@" + "b" * 186 + ".example",
    "65 octets before the @": "a" * 65 + "@x.example",
    "a control character": "a\x01b@x.example",
    "no domain": "ada@",
    "no @": "ada",
    "two addresses": "a@x.example,b@y.example",
    "two addresses with a semicolon": "a@x.example;b@y.example",
    "two addresses with a space": "a@x.example b@y.example",
    "two @": "a@@x.example",
    "another @": "a@b@x.example",
    "an empty label": "a@x..example",
    "a name without a dot": "ada@example",
    "the dot of the root": "ada@x.example.",
    "a dot before the domain": "ada@.x.example",
    "an IP address": "ada@192.0.2.1",
    "an IP address in brackets": "ada@[192.0.2.1]",
    "a dot at the start": ".ada@x.example",
    "two dots before the @": "a..b@x.example",
    "a quoted name": '"a b"@x.example',
    "a comment": "ada(x)@x.example",
    "a line break": "ada@x.example\nbcc:b@x.example",
    "a zero-width space": "a\u200bda@x.example",
    "an ideographic space": "a\u3000da@x.example",
    "an underscore in the domain": "ada@a_b.example",
}
each_bad_address = pytest.mark.parametrize("address", BAD_ADDRESSES.values(), ids=BAD_ADDRESSES)


@each_bad_address
async def test_no_entry_accepts_a_bad_address(served: House, address: str) -> None:
    one = served.one
    account, application = one.headers["account"], one.headers["application"]
    anonymous = {"applicationId": one.application_id}
    new = {"username": f"u{abs(hash(address))}", "password": "correct horse battery", "name": "Ada", "email": address}
    for path, headers, body in (
        ("/account/email", account, {"email": address}),
        ("/register", anonymous, new),
        ("/user", application, new),
        ("/account", application, new | {"userId": one.user_id}),
    ):
        response = await served.call("POST", path, headers, json=body)
        assert (path, response.status_code, response.json()["code"]) == (path, 400, "BAD_INPUT")


@each_bad_address
def test_a_stored_bad_address_gets_no_mail(address: str) -> None:
    with pytest.raises(NotMailable):
        parse_mailbox(address)
    with pytest.raises(NotMailable):
        check_address(address)
    assert extract_addresses([address, "ada@energy.example"]) == ["ada@energy.example"]


async def test_no_entry_accepts_a_name_before_the_address(served: House) -> None:
    headers = served.one.headers["account"]
    for text in ("Ada <ada@x.example>", "<ada@x.example>"):
        response = await served.call("POST", "/account/email", headers, json={"email": text})
        assert (response.status_code, response.json()["code"]) == (400, "BAD_INPUT")
        with pytest.raises(NotMailable):
            check_address(text)


@pytest.mark.parametrize(
    "address",
    ["ada@energy.example", "ada+home@x.example", "Ada.O'Hara@X.Example", "äda@bücher.example", "a@localhost", "a@1.x2"],
)
def test_usual_addresses_are_accepted_as_they_are(address: str) -> None:
    assert check_address(f" {address}\n") == address
    assert parse_mailbox(address).local == address.partition("@")[0]


def test_the_longest_address_is_accepted() -> None:
    address = "a" * 64 + "@" + "b." * 90 + "c.example"
    assert len(address) == 254
    assert check_address(f" {address} ") == address


def test_the_search_for_encoded_words_is_linear() -> None:
    """The quadratic search would take days for this text."""
    assert check_line("=?x" * 1_000_000, "a subject")
    with pytest.raises(NotMailable, match="encoded word"):
        check_line("=?x" * 1_000_000 + "?=", "a subject")
    with pytest.raises(NotMailable, match="too long"):
        parse_mailbox("=?x" * 1_000_000 + "@x.example")
    with pytest.raises(NotMailable):
        parse_mailbox(" " * 900 + "<" * 90)
