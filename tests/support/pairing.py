"""Displays that are paired by a code, as their software and their users do it."""

from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.house import House, Tenant
from tests.support.refusals import refusal_of, refusals

# Aliases give the answers of GraphQL the names of REST.
START = """mutation ($name: String! = "") {
  startDisplayPairing(name: $name) {
    ... on DisplayPairing {
      deviceCode userCode verificationUri verificationUriComplete expiresIn interval qrCode
    }
    ...Refused
  }
}"""
CLAIM = """mutation ($deviceCode: String!) {
  claimDisplayPairing(deviceCode: $deviceCode) {
    ... on DisplayPairingClaim {
      state interval token expiresAt display { displayId userId veId: homeId name createdAt lastSeenAt expiresAt }
    }
    ...Refused
  }
}"""
APPROVE = """mutation ($userCode: String!, $veId: ID!, $name: String) {
  approveDisplayPairing(userCode: $userCode, homeId: $veId, name: $name) {
      ... on DisplayPairingRequest { name expiresAt }
      ...Refused }
}"""
DENY = "mutation ($userCode: String!) { denyDisplayPairing(userCode: $userCode) { ...Refused } }"
CHECK = (
    "mutation ($userCode: String!) { checkDisplayPairing(userCode: $userCode) {"
    " ... on DisplayPairingRequest { name expiresAt } ...Refused } }"
)
LIST = "{ viewer { pairedDisplays { displayId userId veId: homeId name createdAt lastSeenAt expiresAt } } }"
RENAME = (
    "mutation ($displayId: ID!, $name: String!) { renamePairedDisplay(displayId: $displayId, name: $name) {"
    " ... on PairedDisplay { name } ...Refused } }"
)
REVOKE = "mutation ($displayId: ID!) { revokePairedDisplay(displayId: $displayId) { ...Refused } }"
OWN = "{ ownDisplay { displayId homeId name home { homeId name resources { resourceId } } } }"
END = "mutation { endOwnDisplay { ...Refused } }"


@dataclass
class Refusal(Exception):
    """The error of a request, with its code in both interfaces."""

    code: str
    message: str
    extensions: dict[str, Any] = field(default_factory=dict)


@dataclass
class Interface:
    """One of the two interfaces. The methods return the result of an operation, or raise Refusal."""

    house: House
    is_rest: bool

    async def start(self, tenant: Tenant, name: str = "") -> Any:
        anonymous = {"applicationId": tenant.application_id}
        return await self._send("POST", "/displaypairing", START, anonymous, name=name)

    async def claim(self, tenant: Tenant, device_code: str) -> Any:
        anonymous = {"applicationId": tenant.application_id}
        return await self._send("POST", "/displaypairing/claim", CLAIM, anonymous, deviceCode=device_code)

    async def check(self, headers: dict[str, str], user_code: str) -> Any:
        return await self._send("POST", "/displaypairing/check", CHECK, headers, userCode=user_code)

    async def approve(self, headers: dict[str, str], user_code: str, ve_id: str, **name: str) -> Any:
        body = {"userCode": user_code, "veId": ve_id, **name}
        return await self._send("POST", "/displaypairing/approve", APPROVE, headers, **body)

    async def deny(self, headers: dict[str, str], user_code: str) -> Any:
        return await self._send("POST", "/displaypairing/deny", DENY, headers, userCode=user_code)

    async def listed(self, headers: dict[str, str]) -> Any:
        result = await self._send("GET", "/paireddisplay", LIST, headers)
        return result if self.is_rest else result["pairedDisplays"]

    async def rename(self, headers: dict[str, str], display_id: str, name: str) -> Any:
        path = f"/paireddisplay/{display_id}"
        return await self._send("PUT", path, RENAME, headers, displayId=display_id, name=name)

    async def revoke(self, headers: dict[str, str], display_id: str) -> Any:
        return await self._send("DELETE", f"/paireddisplay/{display_id}", REVOKE, headers, displayId=display_id)

    async def own(self, headers: dict[str, str]) -> Any:
        return await self._send("GET", "/paireddisplay/own", OWN, headers)

    async def end(self, headers: dict[str, str]) -> Any:
        return await self._send("DELETE", "/paireddisplay/own", END, headers)

    async def pair(self, tenant: Tenant, ve_id: str, name: str = "Kitchen") -> "Paired":
        """Pair a display with a home of the tenant's account."""
        started = await self.start(tenant)
        await self.approve(tenant.headers["account"], started["userCode"], ve_id, name=name)
        claimed = await self.claim(tenant, started["deviceCode"])
        return Paired(started, claimed["token"], claimed["display"])

    async def _send(self, method: str, path: str, document: str, headers: dict[str, str], **values: Any) -> Any:
        if not self.is_rest:
            answer = await self.house.graphql(document, headers, **values)
            if refusals(answer):
                error = refusal_of(answer)
                raise Refusal(error["code"], error["message"], error)
            (result,) = answer["data"].values()
            return result
        body = {name: value for name, value in values.items() if name != "displayId"}
        sent = {"json": body} if method in ("POST", "PUT") else {}
        response = await self.house.call(method, path, headers, **sent)
        if response.status_code != httpx.codes.OK:
            error = response.json()
            raise Refusal(error["code"], error["error"], error)
        return response.json()


@dataclass(frozen=True)
class Paired:
    """A paired display: what its pairing returned, its credential, and its record."""

    started: dict[str, Any]
    token: str
    display: dict[str, Any]

    @property
    def headers(self) -> dict[str, str]:
        return {"token": self.token}
