"""Enums as types of the schema."""

from enum import Enum

import pytest

from wattgate.operations.vocabulary.scalars import declare_enum


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"


@pytest.mark.parametrize("values", [{"LEFT": "Left."}, {"LEFT": "Left.", "RIGHT": "Right.", "UP": "Up."}], ids=str)
def test_an_enum_describes_exactly_its_members(values: dict[str, str]) -> None:
    with pytest.raises(TypeError, match=r"Describe exactly the members of Side: (RIGHT|UP) differ"):
        declare_enum(Side, "Side of a road.", **values)
