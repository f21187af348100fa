"""Batch loaders of the content system, the order of cultures and versions, and the records that others refer to."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sqlmodel import col

from wattgate.db.models import Content, LanguageContent, Tenanted, TermsConditions
from wattgate.db.rows.rows import Rows
from wattgate.values import terms

DEFAULT_CULTURE = "default"

MAX_PART_DIGITS = 18
"""Maximum digits of a part of a version. Python refuses to read a number of thousands of digits."""


async def in_language(
    rows: Rows, contents: Sequence[Content], *, culture_code: terms.CultureCode
) -> list[LanguageContent | None]:
    """Return the translation of each content object in the nearest available culture, or None."""
    cultures = culture_chain(culture_code)
    translations = await rows.all(
        LanguageContent,
        col(LanguageContent.content_id).in_({content.content_id for content in contents}),
        col(LanguageContent.active).is_(True),
        order_by=[LanguageContent.created_at],
    )
    nearest: dict[str, LanguageContent] = {}
    for culture in reversed(cultures):  # a nearer culture replaces a farther one
        nearest |= {
            translation.content_id: translation
            for translation in translations
            if translation.culture_code.lower() == culture
        }
    return [nearest.get(content.content_id) for content in contents]


async def terms_of_now(rows: Rows, reference: str | None) -> list[TermsConditions]:
    """Return the newest effective version of each reference, or of one."""
    terms_conditions = await rows.all(
        TermsConditions,
        col(TermsConditions.active).is_(True),
        col(TermsConditions.valid_from) <= rows.now,
        *([] if reference is None else [col(TermsConditions.reference) == reference]),
        order_by=[TermsConditions.valid_from],
    )
    return list({version.reference: version for version in terms_conditions}.values())


async def terms_in_force(
    rows: Rows, applications: Sequence[Any], *, reference: terms.Reference | None = None
) -> list[list[TermsConditions]]:
    """Return the terms and conditions in force of the caller's application, for each parent."""
    in_force = await terms_of_now(rows, reference)
    return [in_force for _ in applications]


def culture_chain(code: str) -> list[str]:
    """Return the cultures to try, nearest first and in lower case: fr-ca, fr, default."""
    code = code.strip().lower().replace("_", "-")
    return list(dict.fromkeys([code, code.partition("-")[0], DEFAULT_CULTURE]))


def parse_version(version: str) -> tuple[int, ...] | None:
    """Parse a dotted numeric version for comparison: 1.10 > 1.9, and 1.2 equals 1.2.0. None for another text.

    A part has at most MAX_PART_DIGITS digits.
    """
    parts = version.strip().split(".")
    if not all(part.isascii() and part.isdigit() and len(part) <= MAX_PART_DIGITS for part in parts):
        return None
    numbers = [int(part) for part in parts]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def reference_loader(
    model: type[Tenanted], column: str
) -> Callable[[Rows, Sequence[Any]], Awaitable[list[Tenanted | None]]]:
    """Return a loader of the record whose identifier is in a column of each parent; None if it is not visible."""

    async def load(rows: Rows, parents: Sequence[Any]) -> list[Tenanted | None]:
        records = await rows.get_many(model, {getattr(parent, column) for parent in parents})
        return [records.get(getattr(parent, column)) for parent in parents]

    return load
