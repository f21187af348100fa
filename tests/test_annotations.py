"""Facts beside the types of arguments and fields."""

from typing import Annotated, Any

import pytest

from wattgate.values import terms
from wattgate.values.annotations import NO_FACTS, Described, Facts, MaxCharacters, MaxItems, facts_of

Named = Annotated[str, MaxCharacters(200), Described("Display name.")]


@pytest.mark.parametrize(
    ("annotation", "facts"),
    [
        (Named, Facts("Display name.", 200)),
        (Named | None, Facts("Display name.", 200)),
        (Annotated[Named, Described("Name of the home.")] | None, Facts("Name of the home.", 200)),
        (Annotated[Named | None, MaxCharacters(100)], Facts("Display name.", 100)),
        (list[Named], Facts(None, 200)),  # the description is that of an item
        (Annotated[list[Named], MaxItems(5), Described("Names.")] | None, Facts("Names.", 200, 5)),
        (list[terms.Text100 | None] | None, Facts(None, 100)),
        (Annotated[str, "a fact of another library"], NO_FACTS),
        (str | None, NO_FACTS),
        ("Resource", NO_FACTS),
    ],
    ids=str,
)
def test_last_and_outermost_fact_counts(annotation: Any, facts: Facts) -> None:
    assert facts_of(annotation) == facts
