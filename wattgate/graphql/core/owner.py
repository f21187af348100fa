"""Whose a new record is."""

from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.operation import Call


def owner_of(call: Call) -> str:
    """The user for whom the call is made. BadInput where an application names none."""
    if call.principal.user_id is None:
        problem = Problem(("userId",), "is missing", missing=True)
        raise BadInput("name the user in the header userId", problems=[problem])
    return call.principal.user_id
