"""Refusals: the errors of a mutation that its callers expect and act on. GraphQL returns them as data.

The result of a mutation in GraphQL is a union of its record and of the refusals that the operation can have. All other
errors stay in `errors`: of credentials, budgets, time limits, documents, and of the gateway itself. The permission and
the arguments of an operation imply most kinds, and `Operation.raises` has those that its resolver adds.
"""

from functools import lru_cache

import msgspec

from wattgate.enums import TRACE_ID, RefusalCode, WithheldReason
from wattgate.errors import (
    MAX_LISTED_PROBLEMS,
    BadInput,
    Conflict,
    ConsentRevoked,
    GatewayError,
    NotFound,
    NotSupported,
    QuotaExceeded,
    ReauthenticationRequired,
    SecondFactorRequired,
    documentation_url,
)
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.values.graphql_names import graphql_path

RefusalKind = type[GatewayError]

REFUSAL_KINDS: tuple[RefusalKind, ...] = (
    BadInput,
    NotFound,
    NotSupported,
    Conflict,
    QuotaExceeded,
    ConsentRevoked,
    ReauthenticationRequired,
    SecondFactorRequired,
)
"""The errors that a mutation can return as data. The GraphQL type of each has the name of its class."""

_ADDING_VERBS = ("add", "opt", "register", "participate")


class InputProblem(msgspec.Struct, frozen=True):
    """A wrong or missing value of a call, with the positions in its path as text."""

    path: list[str]
    message: str


class Refused(msgspec.Struct, frozen=True):
    """The refusal of a mutation, as the types of refusals in the schema show it."""

    type_name: str
    code: RefusalCode
    message: str
    doc_url: str
    trace_id: str
    reason: str | None
    problems: list[InputProblem]
    more_problems: int
    retry_after: int | None
    resource_id: str | None = None
    mpxn: str | None = None
    withheld: WithheldReason | None = None


def adds_records(operation: Operation) -> bool:
    """Return whether an operation adds records, which a quota or an equal record can forbid."""
    return operation.kind is OperationKind.MUTATION and operation.name.startswith(_ADDING_VERBS)


@lru_cache(maxsize=512)
def refusal_kinds(operation: Operation) -> tuple[RefusalKind, ...]:
    """Return the refusals that a mutation can have, in the order of REFUSAL_KINDS. Other operations have none."""
    if operation.kind is not OperationKind.MUTATION:
        return ()
    kinds = set(operation.raises)
    if operation.arguments:
        kinds.add(BadInput)
    if "input" in operation.arguments or any(name.endswith(("_id", "_ids")) for name in operation.arguments):
        kinds.add(NotFound)
    if adds_records(operation):
        kinds |= {Conflict, QuotaExceeded}
    return tuple(kind for kind in REFUSAL_KINDS if kind in kinds)


def to_refusal(operation: Operation, error: GatewayError) -> Refused | None:
    """Return the refusal for an error that a mutation raised; None if the error is not one that it is expected to have.

    Subclasses of a kind have its code, and are refusals of this kind.
    """
    kind = next((each for each in refusal_kinds(operation) if each.code == error.code), None)
    if kind is None:
        return None
    withheld = error if isinstance(error, ConsentRevoked) else None
    return Refused(
        type_name=kind.__name__,
        code=RefusalCode[error.code],
        message=error.message,
        doc_url=documentation_url(error.code),
        trace_id=TRACE_ID.get(),
        reason=error.reason,
        problems=[
            InputProblem([str(part) for part in graphql_path(problem.path)], problem.message)
            for problem in error.problems[:MAX_LISTED_PROBLEMS]
        ],
        retry_after=error.retry_after,
        more_problems=max(0, len(error.problems) - MAX_LISTED_PROBLEMS),
        resource_id=withheld.resource_id if withheld else None,
        mpxn=withheld.mpxn if withheld else None,
        withheld=withheld.withheld if withheld else None,
    )
