"""GraphQL types of refusals: what a mutation returns in place of its record. `Refused` is the object of each."""

import strawberry

from wattgate.enums import RefusalCode, WithheldReason
from wattgate.errors import MAX_LISTED_PROBLEMS
from wattgate.operations.core.fields import list_field
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
        3, description=f"Wrong or missing values, at most {MAX_LISTED_PROBLEMS}. Empty if no single value is the cause."
    )


@strawberry.type(description="A value of the call is wrong or missing.")
class BadInput(Refusal):
    pass


@strawberry.type(description="The caller has no record with an ID or name of the call.")
class NotFound(Refusal):
    pass


@strawberry.type(description="The record exists, but its kind does not support the operation.")
class NotSupported(Refusal):
    pass


@strawberry.type(description="The state of the record does not allow the change.")
class Conflict(Refusal):
    pass


@strawberry.type(description="The user or the application has as many records of the kind as it may have.")
class QuotaExceeded(Refusal):
    pass


@strawberry.type(description="The consent to the use of the data is revoked, expired or not recorded.")
class ConsentRevoked(Refusal):
    withheld: WithheldReason = strawberry.field(description="Why the data is withheld.")
    resource_id: strawberry.ID | None = strawberry.field(
        description="ID of the resource whose data is withheld. Null if the call concerns a meter point."
    )
    mpxn: terms.Mpxn | None = strawberry.field(
        description="Meter point whose data is withheld. Null if it is not known."
    )


@strawberry.type(description="The log-in of the token is too old for this change.")
class ReauthenticationRequired(Refusal):
    pass


@strawberry.type(description="The password is right; a code of the second factor is missing or wrong.")
class SecondFactorRequired(Refusal):
    pass


REFUSAL_TYPES: tuple[type, ...] = (
    BadInput,
    NotFound,
    NotSupported,
    Conflict,
    QuotaExceeded,
    ConsentRevoked,
    ReauthenticationRequired,
    SecondFactorRequired,
)
"""The types of refusals, in the order of REFUSAL_KINDS. Each has the name of its error."""
