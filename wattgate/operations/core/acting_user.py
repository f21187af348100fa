"""The owner of a new record."""

from wattgate.errors import BadInput, Problem
from wattgate.operations.core.operation import Call


def require_user_id(call: Call) -> str:
    """Return the id of the user on whose behalf the call runs. Raise BadInput if an application names none."""
    if call.principal.user_id is None:
        problem = Problem(("userId",), "is missing", is_missing=True)
        raise BadInput("name the user in the header userId", problems=[problem])
    return call.principal.user_id
