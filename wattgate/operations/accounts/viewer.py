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


# The edges check the permissions of their own records, and return those that the caller may see.
@operation(OperationKind.QUERY, returns=types.Application, needs=Permission.USER_READ)
async def application(call: Call) -> models.Application:
    """Return the application of the caller, from which edges lead to its shared records, and to those of all users.

    An account, or an application that acts for a user, sees the shared records, and of the others those of the user.
    """
    found = await call.rows.application()
    if found is None:
        raise NotFound(f"No application with ID {call.rows.application_id}.")
    return found
