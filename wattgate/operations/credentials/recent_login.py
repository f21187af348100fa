"""Changes of a username or an e-mail address, for which a stolen token is not enough."""

from datetime import datetime

from sqlmodel import col

from wattgate.db.models import Token
from wattgate.errors import BadInput, Problem, ReauthenticationRequired
from wattgate.operations.core.operation import Call
from wattgate.operations.credentials.login import require_account, verify_password
from wattgate.operations.credentials.second_factor_codes import check_code


async def require_recent_login(call: Call, password: str | None, code: str | None) -> None:
    """Raise ReauthenticationRequired unless the caller has just shown its credentials.

    A token needs a log-in within `AccountPolicy.recent_login`, or the `password` of its account and, for a second
    factor, the `code`. A token that `newToken` issued has the log-in of the former one. Other callers send their
    password or secret with each request. Raise BadInput for a wrong password, SecondFactorRequired for a wrong code.
    """
    if call.principal.token_id is None:
        return
    if password is not None:
        await _check_credentials(call, password, code)
        return
    token = await call.rows.first(Token, col(Token.token_id) == call.principal.token_id)
    recent = call.account_policy.recent_login
    if token is None or call.rows.now - login_time(token) > recent:
        minutes = int(recent.total_seconds() // 60)
        raise ReauthenticationRequired(
            f"The log-in of this token is more than {minutes} minutes old. Log in again and use the new token, or send "
            "the password of the account as password, with a second factor also its code.",
            reason="insufficient_user_authentication",
        )


def login_time(token: Token) -> datetime:
    """Return when the holder of a token logged in. Without that time, it is the creation of the token."""
    return token.authenticated_at or token.created_at


async def _check_credentials(call: Call, password: str, code: str | None) -> None:
    account = await require_account(call)
    if not await verify_password(call, call.rows, account, password, account.username, account.directory_id):
        problem = Problem(("password",), "is wrong")
        raise BadInput("The password is wrong.", problems=[problem], commits_changes=True)
    if account.second_factor:
        await check_code(call, call.rows, account, code)
