"""GraphQL types of refusals: what a mutation returns in place of its record. `Refused` is the object of each."""

from collections.abc import Mapping

import strawberry

from wattgate import errors
from wattgate.enums import RefusalCode, WithheldReason
from wattgate.errors import MAX_LISTED_PROBLEMS
from wattgate.operations.core.fields import list_field
from wattgate.operations.core.refusals import REFUSAL_KINDS, RefusalKind
from wattgate.operations.vocabulary.strawberry_adapter import enum_values
from wattgate.values import terms


@strawberry.type(description="Wrong or missing value of a call.")
class InputProblem:
    path: list[str] = list_field(
        3, description="Path of the value: the name of the argument, then names of fields and positions in lists."
    )
    message: str = strawberry.field(description="Problem of the value, in words.")


@strawberry.interface(description="Expected reason for which a mutation changed nothing. Its caller can act on it.")
class Refusal:
    code: RefusalCode = strawberry.field(description="Kind of the refusal, for programs.")
    message: str = strawberry.field(description="Reason of the refusal, and the remedy.")
    doc_url: str = strawberry.field(
        description="Page of the gateway with the cause and its fix, relative to the address of the gateway."
    )
    trace_id: str = strawberry.field(description="ID of the request in the log of the gateway.")
    reason: str | None = strawberry.field(description="Name that a standard has for the refusal. Null if none has one.")
    problems: list[InputProblem] = list_field(
        1, description=f"Wrong or missing values, at most {MAX_LISTED_PROBLEMS}. Empty if no single value is the cause."
    )
    retry_after: int | None = strawberry.field(
        description="Seconds after which the same call may succeed. Null if no time makes it succeed."
    )
    more_problems: int = strawberry.field(description="Number of further problems, which are not listed.")


class ConsentRevoked(Refusal):
    withheld: WithheldReason = strawberry.field(description="Why the data is withheld.")
    resource_id: strawberry.ID | None = strawberry.field(
        description="ID of the resource whose data is withheld. Null if the call concerns a meter point."
    )
    mpxn: terms.Mpxn | None = strawberry.field(
        description="Meter point whose data is withheld. Null if it is not known."
    )


WITH_FIELDS: Mapping[RefusalKind, type] = {errors.ConsentRevoked: ConsentRevoked}
"""The classes of refusals with fields of their own. `_refusal_type` makes types of them."""


def _refusal_type(kind: RefusalKind) -> type:
    """Return the type of a kind. It has the name of the error, and the description of the code."""
    (code,) = (value for value in enum_values(RefusalCode) if value.name == kind.code)
    declared = WITH_FIELDS.get(kind) or type(kind.__name__, (Refusal,), {})
    return strawberry.type(declared, description=code.description)


REFUSAL_TYPES = tuple(map(_refusal_type, REFUSAL_KINDS))
"""The types of refusals, in the order of REFUSAL_KINDS."""
