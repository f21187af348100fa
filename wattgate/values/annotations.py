"""Facts about an argument or a field, beside its type in `Annotated`: its description and its bounds.

The schema, the OpenAPI document and the check of arguments read them with `facts_of`. `wattgate.values.terms` and
`operations.vocabulary.ids` contain the types with facts that several declarations share.
"""

import types
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin


@dataclass(frozen=True, slots=True)
class Described:
    """The description of an argument or a field."""

    text: str


@dataclass(frozen=True, slots=True)
class MaxCharacters:
    """The maximum characters of a text argument, or of each text in a list. Results have no bound.

    An ID has the bound of all IDs. If it states another one, the OpenAPI document has that for the path parameter.
    """

    count: int


@dataclass(frozen=True, slots=True)
class MaxItems:
    """The maximum items of a list argument."""

    count: int


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of an annotation. None means that it does not state the fact."""

    description: str | None = None
    max_characters: int | None = None
    max_items: int | None = None


def facts_of(annotation: Any) -> Facts:
    """Return the facts that an annotation states. Of two values of one fact, the last and outermost one counts.

    A description inside `list[...]` describes the items, so it does not count.
    """
    found: dict[type, Any] = {}
    in_list = False
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            for fact in reversed(annotation.__metadata__):
                if not (in_list and isinstance(fact, Described)):
                    found.setdefault(type(fact), fact)
            annotation = annotation.__origin__
        elif origin is Union or origin is types.UnionType:
            annotation = next(part for part in get_args(annotation) if part is not types.NoneType)
        elif origin is list:
            in_list = True
            (annotation,) = get_args(annotation)
        else:
            break
    if not found:
        return NO_FACTS
    described, characters, items = found.get(Described), found.get(MaxCharacters), found.get(MaxItems)
    return Facts(
        described.text if described else None,
        characters.count if characters else None,
        items.count if items else None,
    )


NO_FACTS = Facts()
