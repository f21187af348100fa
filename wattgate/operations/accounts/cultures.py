"""Cultures in the arguments of operations."""

from wattgate.delivery.templates.language.cultures import canonical_culture, is_culture
from wattgate.errors import BadInput, Problem, ProblemPath


def parse_culture(code: str, path: ProblemPath = ("cultureCode",)) -> str:
    """Return a culture code in its canonical form. Raise BadInput with a problem at `path` if it is malformed."""
    if not is_culture(code):
        problem = Problem(path, "is not a language tag such as en-GB")
        raise BadInput(f"Invalid culture code {code!r}. Give a language tag such as en-GB.", problems=[problem])
    return canonical_culture(code)


def parse_optional_culture(code: str | None, path: ProblemPath = ("cultureCode",)) -> str | None:
    """Return a culture code as `parse_culture` does, or None if there is none."""
    return None if code is None else parse_culture(code, path)
