"""A password is verified as it was received, in any form of Unicode. The pages leave its fields to the browser."""

import re
from uuid import uuid4

from tests.support.house import House
from wattgate.app.server.pages.pages import STATIC_DIRECTORY

PASSWORDS = {
    " Two spaces at each end  ": ["Two spaces at each end"],
    "Caf\u00e9 au lait 7": ["caf\u00e9 au lait 7", "Cafe au lait 7"],
    "x" * 64 + "tail": ["x" * 64, "x" * 64 + "taiL"],
    "y" * 1_000 + "end": ["y" * 1_000],
    "only lower case words": ["Only lower case words"],
    "\U0001f512 \u5bc6\u7801 \u043f\u0430\u0440\u043e\u043b\u044c": [
        "\u5bc6\u7801 \u043f\u0430\u0440\u043e\u043b\u044c"
    ],
}
"""Accepted passwords, and texts that a change of case or length would make equal to each."""

OTHER_FORMS = {"Caf\u00e9 au lait 7": "Cafe\u0301 au lait 7"}
"""The same text in another form of Unicode, as another keyboard sends it (NIST SP 800-63B)."""


async def test_password_of_any_composition_is_verified_as_it_was_received(served: House) -> None:
    tenant = served.one
    for password, others in PASSWORDS.items():
        username = f"{uuid4().hex}@one.example"
        body = {"username": username, "userId": tenant.user_id, "password": password}
        added = await served.call("POST", "/account", tenant.headers["application"], json=body)
        assert added.status_code == 200, (password, added.text)
        login = {"applicationId": tenant.application_id}
        for text in others:
            answer = await served.call("POST", "/auth", login, json={"username": username, "password": text})
            assert answer.status_code == 401, (password, text)
        for text in (password, OTHER_FORMS.get(password, password)):
            answer = await served.call("POST", "/auth", login, json={"username": username, "password": text})
            assert answer.status_code == 200, (text, answer.text)
        account = added.json()["accountId"]
        closed = await served.call("DELETE", f"/account/{account}", tenant.headers["application"])
        assert closed.status_code == 200, closed.text


def test_password_fields_are_masked_and_leave_passwords_to_the_browser() -> None:
    pages = {path.name: path.read_text() for path in STATIC_DIRECTORY.rglob("*.html")}
    fields = [field for text in pages.values() for field in re.findall(r"<input[^>]*>", text) if is_password(field)]
    assert len(fields) >= 3
    for field in fields:
        assert 'type="password"' in field
        assert re.search(r'autocomplete="(?:current|new)-password"', field), field
        assert "maxlength" not in field
        assert "onpaste" not in field
    scripts = {path: path.read_text() for path in STATIC_DIRECTORY.rglob("*.js")}
    refusing = [path.name for path, text in scripts.items() if re.search(r"onpaste|[\"']paste[\"']", text)]
    assert refusing == []


def is_password(field: str) -> bool:
    return re.search(r'name="\w*[pP]assword"', field) is not None
