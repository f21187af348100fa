"""Authentication at the edge: from the headers of a request or socket to a principal."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace

from wattgate.clock import Clock, utc_now
from wattgate.db.identity.credentials import Identity
from wattgate.errors import Unauthenticated
from wattgate.principal import Principal, Role
from wattgate.request_context import CALLER

NO_SUCH_APPLICATION = "unknown"


class Authenticator:
    """Knows SPEC.md's two schemes: Basic (an application's credential, or an account's username and password)
    and a token, in the header `token` or as Bearer."""

    def __init__(self, identity: Identity, clock: Clock = utc_now) -> None:
        self._identity = identity
        self._clock = clock

    async def principal(self, headers: Mapping[str, str]) -> Principal:
        """The caller, by lower-case header names; an anonymous principal where no credentials are shown.

        Unauthenticated where credentials are shown and are not good.
        """
        application_id = headers.get("applicationid") or None
        CALLER.set(Principal(Role.ANONYMOUS, application_id=application_id))  # until more is known
        principal = await self._caller(headers, application_id)
        CALLER.set(principal)
        return principal

    async def _caller(self, headers: Mapping[str, str], application_id: str | None) -> Principal:
        scheme, _, credentials = headers.get("authorization", "").strip().partition(" ")
        token = headers.get("token") or (credentials if scheme.lower() == "bearer" else "")
        if token:
            principal = await self._identity.by_token(token.strip(), self._clock())
        elif scheme.lower() == "basic":
            principal = await self._basic(credentials.strip(), application_id)
        elif scheme:
            raise Unauthenticated("Access denied")
        else:
            return await self._anonymous(application_id)
        if principal is None or (application_id or principal.application_id) != principal.application_id:
            raise Unauthenticated("Access denied")
        return await self._acting(principal, headers.get("userid"))

    async def _anonymous(self, application_id: str | None) -> Principal:
        """Somebody without credentials. Whatever application they make up, it is the same one."""
        if application_id is None:
            return Principal(Role.ANONYMOUS)
        found = await self._identity.anonymous(application_id)
        return found or Principal(Role.ANONYMOUS, application_id=NO_SUCH_APPLICATION)

    async def _basic(self, credentials: str, application_id: str | None) -> Principal | None:
        try:
            username, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        if not colon:
            return None
        principal = await self._identity.by_application_credential(username, password)
        if principal or application_id is None:
            return principal
        return await self._identity.by_password(application_id, username.strip().lower(), password, self._clock())

    async def _acting(self, principal: Principal, user_id: str | None) -> Principal:
        """An application's principal with the user it names in the header userId."""
        if not user_id or principal.role is not Role.APPLICATION:
            return principal
        assert principal.application_id is not None  # an application's credential has one
        if not await self._identity.has_user(principal.application_id, user_id):
            raise Unauthenticated("Access denied")
        return replace(principal, user_id=user_id)
