"""The rules for new passwords: length, common passwords, patterns, and the names of the account."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.db.identity.password_rules import MIN_PASSWORD_LENGTH, find_weakness, normalize_password
from wattgate.db.identity.passwords import hash_password, password_matches

CONTEXT = ("Ada.Lovelace@Example.org", "countess", "North Sea Energy")


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("short", "has 5 characters"),
        ("\ufb01" * 3, "has 6 characters"),  # three ligatures, which are six letters
        ("        ", "only spaces"),
        ("\u00a0" * 9, "only spaces"),
        ("password", "most common"),
        ("PassWord", "most common"),
        ("\uff50assword", "most common"),  # a letter of full width
        ("  password ", "most common"),
        ("Password1!", "most common"),
        ("sunshine2024", "most common"),
        ("letmein123", "most common"),
        ("12345678", "repeats"),
        ("87654321", "repeats"),
        ("aaaaaaaa", "repeats"),
        ("abcdabcdab", "repeats"),
        ("abcdefghij", "repeats"),
        ("ada.lovelace@example.org", "beside"),
        ("AdaLovelace", "beside"),
        ("lovelace1815", "beside"),
        ("countess!", "beside"),
        ("North Sea Energy 1", "beside"),
        ("passwordpassword", "most common"),
        ("Password.password", "most common"),
        ("p a s s w o r d", "most common"),
        ("pass\u200bword", "most common"),
        ("1 2 3 4 5 6 7 8", "repeats"),
        ("0987654321", "repeats"),
        ("7890123456", "repeats"),
        ("abcdeabcde", "repeats"),
        ("c.o.u.n.t.e.s.s", "beside"),
        ("countesscountess", "beside"),
        ("ssetnuoc!", "beside"),
        ("wattgate-2026", None),  # callers add the name of the gateway
    ],
)
def test_weak_password_has_its_reason(password: str, problem: str | None) -> None:
    weakness = find_weakness(password, CONTEXT)
    assert (weakness is None) if problem is None else (problem in (weakness or ""))


@pytest.mark.parametrize(
    "password",
    [
        "correct horse",
        "tr0ub4dor",
        "only small letters are good",
        "пароль для счётчика",
        "kilowatt ada lovelace stunden",  # enough beside the name
        "savannah trees",
        "countess my cat!",
        "to be or not to be or",
        "7402851936",
        "x" * 31 + "yz" + "x" * 31,
        "\N{SNOWMAN}\N{UMBRELLA}" * 2 + "\N{COMET}\N{BLACK STAR}\N{SNOWMAN}\N{COMET}",
    ],
)
def test_other_password_is_good_without_rules_about_its_characters(password: str) -> None:
    assert find_weakness(password, CONTEXT) is None


@given(st.text(max_size=80), st.lists(st.text(max_size=40), max_size=3))
def test_every_text_has_an_answer_and_none_below_the_length_is_good(password: str, context: list[str]) -> None:
    weakness = find_weakness(password, context)
    assert weakness is not None or len(normalize_password(password)) >= MIN_PASSWORD_LENGTH


async def test_password_matches_in_each_form_of_its_characters() -> None:
    composed, decomposed = "Fußgänger im Café", "Fußga\u0308nger im Cafe\u0301"
    stored = await hash_password(decomposed)
    assert [await password_matches(stored, form) for form in (composed, decomposed, "Fussganger im Cafe")] == [
        *(True, True, False)
    ]
