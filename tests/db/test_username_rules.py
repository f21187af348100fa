"""Which new usernames are refused."""

import pytest

from wattgate.db.identity.password_rules import find_username_flaw


@pytest.mark.parametrize(
    ("name", "flaw"),
    [
        ("ada@example.org\u200b", "has the invisible character U+200B"),
        ("\u00adada", "has the invisible character U+00AD"),
        ("ada\u202egro", "has the invisible character U+202E"),
        ("ada\x00", "has the invisible character U+0000"),
        ("ada\ue000", "has the invisible character U+E000"),
        ("ada\u2028", "has the invisible character U+2028"),
        ("\uff41da", "has characters with a simpler form. Write 'ada'"),
        ("ada\u00a0l", "has characters with a simpler form. Write 'ada l'"),
        ("e\u0301va", "has characters with a simpler form. Write '\u00e9va'"),
        ("\u0430da@example.org", "mixes letters that look alike: Cyrillic and Latin"),
        ("\u03bfmega o", "mixes letters that look alike: Greek and Latin"),
        ("3f2b8c1e-6d54-4a7b-9c0d-1e2f3a4b5c6d", "has the form of an ID"),
        ("3f2b8c1e6d544a7b9c0d1e2f3a4b5c6d", None),
        ("ada@example.org", None),
        ("ada lovelace", None),
        ("\u00e9va@example.org", None),
        ("\u0438\u0432\u0430\u043d@example.org", None),
        ("\u5c71\u7530 taro", None),
        ("3f2b8c1e", None),
    ],
)
def test_username_that_looks_like_another_one_is_refused(name: str, flaw: str | None) -> None:
    assert find_username_flaw(name) == flaw
