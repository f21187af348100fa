"""Authentication: resolve the headers of a request or connection to a principal."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from wattgate.clock import Clock, utc_now
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.delivery.openid.tokens import looks_like_jwt
from wattgate.errors import Forbidden, Unauthenticated
from wattgate.principal import UNKNOWN_APPLICATION_ID, Principal, Role
from wattgate.requests.bodies import announced_length
from wattgate.requests.request_context import CURRENT_PRINCIPAL, REQUEST_COST
from wattgate.requests.request_limits import size_cost

MAX_NAME_CHARACTERS = 100
"""Maximum characters of an ID that is looked up. IDs of applications and clients have fewer, and are ASCII."""

_WRONG_TOKEN = "The token is unknown, revoked or expired. Log in again."  # noqa: S105 (not a credential)

_NOBODY = Principal(Role.ANONYMOUS)


class Authenticator:
    """Authenticator for two schemes: Basic and token.

    Basic carries the credential of an application, or the username and password of an account. A token is in the header
    `token` or in `Authorization: Bearer`. The caller with a token of an external directory is anonymous.
    """

    def __init__(self, identity: CredentialLookup, clock: Clock = utc_now) -> None:
        self._identity = identity
        self._clock = clock

    async def authenticate(self, headers: Mapping[str, str]) -> Principal:
        """Return the caller. Without credentials, return an anonymous principal.

        Header names are in lower case. Raise Unauthenticated if the credentials are invalid.
        """
        application_id = headers.get("applicationid") or None
        # for log records during authentication
        CURRENT_PRINCIPAL.set(_anonymous(application_id))
        principal = await self._resolve_principal(headers, application_id)
        CURRENT_PRINCIPAL.set(principal)
        return principal

    async def _resolve_principal(self, headers: Mapping[str, str], application_id: str | None) -> Principal:
        scheme, _, credentials = headers.get("authorization", "").strip().partition(" ")
        token = headers.get("token") or (credentials if scheme.lower() == "bearer" else "")
        if looks_like_jwt(token.strip()):
            # the token of an external directory proves nothing before the operation verifies it
            return replace(await self._anonymous_principal(application_id), directory_token=token.strip())
        if token:
            principal = await self._identity.principal_by_token(token.strip(), self._clock())
        elif scheme.lower() == "basic":
            with _stated_cost(headers):
                principal = await self._authenticate_basic(credentials.strip(), application_id)
        elif scheme:
            problem = "no token" if scheme.lower() == "bearer" else "an unknown scheme"
            raise Unauthenticated(f"The header Authorization has {problem}. Send Bearer with a token, or Basic.")
        else:
            return await self._anonymous_principal(application_id)
        if principal is None:
            raise Unauthenticated(_WRONG_TOKEN if token else _wrong_basic(application_id))
        if (application_id or principal.application_id) != principal.application_id:
            raise Unauthenticated(
                "The credentials belong to another application than that of the header applicationId. Correct the "
                "header, or leave it out."
            )
        principal = await self._act_for_user(principal, headers.get("userid"))
        return await self._enter_shared_home(principal, headers.get("sharedhomeid"))

    async def _anonymous_principal(self, application_id: str | None) -> Principal:
        """Return an anonymous principal. All applications that do not exist share the ID `unknown`."""
        if application_id is None:
            return _NOBODY
        principal = await self._identity.anonymous_principal(application_id)
        return principal or _anonymous(UNKNOWN_APPLICATION_ID)

    async def find_payer(self, caller: Principal, name: str) -> Principal:
        """Return the principal whose budget pays for anonymous work with the application that a request names.

        `name` is the ID of an application or of an OAuth client, in the body. The budget of the caller pays for a name
        that does not exist. The client's address is charged for its look-up, as for an unknown name in a header.
        """
        if (
            name == caller.application_id
            or len(name) > MAX_NAME_CHARACTERS
            or not (name.isascii() and name.isprintable())
        ):
            return caller
        return await self._identity.named_principal(name) or caller

    async def _authenticate_basic(self, credentials: str, application_id: str | None) -> Principal | None:
        try:
            username, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        if not colon:
            return None
        principal = await self._identity.principal_by_application_credential(username, password)
        if principal is not None:
            return principal
        if application_id is None:
            await self._identity.charge_wrong_credential()
            return None
        return await self._identity.principal_by_password(
            application_id, username.strip().lower(), password, self._clock()
        )

    async def _act_for_user(self, principal: Principal, user_id: str | None) -> Principal:
        """Return the principal with the user of the header `userId`, if the principal is an application."""
        if not user_id or principal.role is not Role.APPLICATION:
            return principal
        assert principal.application_id is not None  # credentials always belong to an application
        if not await self._identity.has_user(principal.application_id, user_id):
            raise Forbidden("The header userId names no user of the application. Correct it, or leave it out.")
        return replace(principal, user_id=user_id)

    async def _enter_shared_home(self, principal: Principal, ve_id: str | None) -> Principal:
        """Return the member of the home of the header `sharedHomeId`, if the principal is an account of one.

        An OAuth client has the user's own data only, and an application names the owner in the header `userId`.
        """
        if not ve_id:
            return principal
        if not principal.may_enter_shared_homes:
            raise Forbidden(
                "The header sharedHomeId needs the password or the log-in token of an account. Log in as a member of "
                "the home, or leave it out."
            )
        membership = await self._identity.membership(principal, ve_id)
        if membership is None:
            raise Forbidden(
                "The header sharedHomeId names no home that is shared with you. List those with sharedHomes, or leave "
                "it out."
            )
        member_id, owner_id = membership
        return replace(
            principal,
            role=Role.MEMBER,
            user_id=owner_id,
            ve_id=ve_id,
            membership_id=member_id,
            member_user_id=principal.user_id,
        )


@contextmanager
def _stated_cost(headers: Mapping[str, str]) -> Iterator[None]:
    """Let the refusal of a hash also cover the size that a request announces, unless its interface knows more."""
    token = REQUEST_COST.set(REQUEST_COST.get() or partial(size_cost, announced_length(headers) or 0))
    try:
        yield
    finally:
        REQUEST_COST.reset(token)


def _anonymous(application_id: str | None) -> Principal:
    return _NOBODY if application_id is None else Principal(Role.ANONYMOUS, application_id=application_id)


def _wrong_basic(application_id: str | None) -> str:
    """Return the message for wrong Basic credentials. It is equal for known and unknown names."""
    hint = " The username and password of an account also need the header applicationId." if not application_id else ""
    return f"The username or the password in the header Authorization is wrong.{hint}"
