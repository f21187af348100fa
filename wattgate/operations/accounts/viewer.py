"""The fields from which the graph starts: the caller as a user, and the application of the caller."""

from wattgate.db import models
from wattgate.errors import NotFound
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.types.users import viewer as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.principal import Permission


@operation(OperationKind.QUERY, returns=types.Viewer, needs=Permission.USER_READ)
async def viewer(call: Call) -> types.Viewer:
    """Return the caller as a user, from whom edges lead to all records of the user.

    An application names the user in the header `userId`. Without it, the field fails with BAD_INPUT: use `application`.
    """
    return types.Viewer(
        user_id=Id(require_user_id(call)),
        account_id=None if call.principal.account_id is None else Id(call.principal.account_id),
        application_id=Id(call.rows.application_id),
    )


# Administrators and applications have STATISTICS_READ. Applications that act for a user do not. The edges check
# the permissions of their own records.
@operation(OperationKind.QUERY, returns=types.Application, needs=Permission.STATISTICS_READ)
async def application(call: Call) -> models.Application:
    """Return the application of the caller, from which edges lead to the records of all users."""
    found = await call.rows.application()
    if found is None:
        raise NotFound(f"No application with ID {call.rows.application_id}.")
    return found
