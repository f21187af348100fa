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
