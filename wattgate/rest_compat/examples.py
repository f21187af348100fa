"""What places of the legacy form take and answer, by example: the documentation of what no type describes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

UUID = "b0f1b774-a586-4f72-9edd-27ead8aa7a8d"
TIME = "2026-11-20T10:00:00.000Z"
MPXN = "1234567890123"
EPOCH = 1_795_000_000


@dataclass(frozen=True, slots=True)
class Documented:
    """Examples of a place's query parameters, body and answer; None where the operation's types describe them.

    Of a `free` place the members are the client's own, so that an example says nothing of their types.
    """

    query: Mapping[str, str] | None = None
    body: Any = None
    answer: Any = None
    media: str = "application/json"
    free: bool = False


def enveloped(data: Any, **query: str) -> dict[str, Any]:
    """The legacy frame around the data of a resource."""
    return {
        "status": "OK",
        "name": "electricity consumption",
        "resourceTypeId": UUID,
        "resourceId": UUID,
        "query": query,
        "data": data,
        "units": "kWh",
        "classifier": "electricity.consumption",
    }


_TOKEN = {"tokenId": UUID, "userId": UUID, "accountId": UUID, "createdAt": TIME, "expiresAt": TIME}
_OF_CLIENT = {"authenticationFramework": "oauth", "grant_type": "refresh_token"}
_REDIRECT = "https://client.example/back"
_AUTHORISATION = {
    "applicationId": UUID,
    "username": "ada@example.org",
    "password": "correct horse",
    "client_id": UUID,
    "redirect_uri": _REDIRECT,
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
    "scope": "read",
    "state": "a text of the client's",
}
_EXCHANGE = {
    "client_id": UUID,
    "client_secret": "the client's secret",
    "grant_type": "authorization_code",
    "code": "the authorization code",
    "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "redirect_uri": _REDIRECT,
}
_GRANTED = {
    "token_type": "bearer",
    "access_token": "the access token",
    "expires_in": 604800,
    "refresh_token": "the refresh token",
    "refresh_type": "the refresh token",
    "scope": "read",
}
_READINGS = {"from": "2026-11-01T00:00:00", "to": "2026-11-01T23:59:59", "period": "PT30M", "function": "sum"}
_HOME = {
    "veId": UUID,
    "veTypeId": UUID,
    "applicationId": UUID,
    "ownerId": UUID,
    "name": "12 Alder Road",
    "postalCode": "LS6 3QT",
    "attributes": None,
    "clone": False,
    "active": True,
    "createdAt": TIME,
    "updatedAt": TIME,
    "resources": [{"resourceId": UUID, "resourceTypeId": UUID, "name": "electricity consumption"}],
    "veChildren": [],
}
_ATTRIBUTE = {"veId": UUID, "attribute": None}
_TIER = {"tier": 1, "tourate": 8.4, "rate": 8.4, "time": "23:30-05:30", "weekdays": ["MON", "TUE"]}
_PLAN = {"weekName": "1", "source": "supplier", "planDetail": [{"rate": 24.5}, {"standing": 53.8}, _TIER]}
_TARIFF = {
    "id": UUID,
    "name": "Standard",
    "commodity": "ELEC",
    "cid": "PWER",
    "type": "tou",
    "utility": "",
    "from": "2025-10-01 00:00:00",
    "currentRates": {"rate": 24.5, "standingCharge": 53.8},
    "structure": [_PLAN],
    "plan": [_PLAN],
}
_ALERT = {
    "userId": UUID,
    "alertTypeId": "CM01",
    "email": "yes",
    "send2Push": "no",
    "send2Inbox": "yes",
    "Priority": "High",
    "callbackUrl": "https://example.org/hook",
    "dataToFill": None,
}
_LOG = {
    "notificationid": UUID,
    "Pipeline": None,
    "ns_alert_id": UUID,
    "channel": "email",
    "userid": UUID,
    "Stage": "Added Notification Record",
    "workflowStepNum": 1,
    "Status": "OK",
    "status_at": TIME,
}
_NOTIFICATION = {
    "notificationid": UUID,
    "ns_alert_id": UUID,
    "received_dtm": TIME,
    "Status": "OK",
    "status_at": TIME,
    "channel": "email",
    "userid": UUID,
    "alertData": None,
}
_TEMPLATE = {"name": "High use", "htmlTemplate": "<p>Dear {{name}}</p>", "description": "", "active": True}
_POINTS = {"meterPoints": [{"mpxn": MPXN}]}
_RENEWED = {
    "valid": True,
    "meterPointVerificationRenewals": [
        {"mpxn": MPXN, "valid": True, "meterPointVerificationRenewalId": UUID, "isValidUntil": TIME}
    ],
}
_REVOKED = {
    "valid": True,
    "meterPointRevocations": [{"mpxn": MPXN, "meterPointVerificationRevocationId": UUID}],
}


def _history(members: str, by: str, id_name: str) -> dict[str, Any]:
    change = {
        "auditReference": {"applicationId": UUID},
        "createdAt": TIME,
        "mpxnKey": "mpan",
        "mpxn": MPXN,
        by: {"key": "userId", "value": UUID},
        id_name: UUID,
    }
    return {"valid": True, members: [change]}


_DEVICE = {
    "deviceId": UUID,
    "deviceTypeId": UUID,
    "ownerId": UUID,
    "description": "In-home display",
    "active": True,
    "hardwareId": "AABBCCDDEEFF",
    "hardwareIdNames": ["MAC"],
    "hardwareIds": {"MAC": "AABBCCDDEEFF"},
    "parentHardwareId": [],
    "tags": [],
    "protocol": {
        "protocol": "ZIGBEE",
        "sensors": [{"protocolId": "0702", "resourceTypeId": UUID, "resourceId": UUID}],
    },
    "createdAt": TIME,
    "updatedAt": TIME,
}
_DEVICE_STATUS = {
    "found": True,
    "deviceId": UUID,
    "hardwareId": "AABBCCDDEEFF",
    "value": EPOCH,
    "status": "LIVE",
    "expectedEvery": 60,
}
_INVENTORY = {
    "valid": True,
    "inventory": [
        {
            "DateCommissioned": TIME,
            "DeviceFirmwareVersion": "1.2",
            "DeviceManufacturer": "Example",
            "DeviceModel": "E1",
            "DeviceType": "ESME",
            "DeviceStatus": "Commissioned",
            "EUI": "70B3D50000000001",
            "ImportMPxN": MPXN,
            "SmetsVersion": "2",
        }
    ],
}
_CATCH_UP = {"valid": True, "status": "started", "catchUpId": UUID, "state": "QUEUED"}
_TARIFF_CHANGE = {
    "id": UUID,
    "name": "Standard",
    "displayName": "Standard",
    "from": "2025-10-01 00:00:00",
    "effectiveDate": "2025-10-01 00:00:00",
    "plan": [{"planDetail": [{"rate": 24.5}, {"standing": 53.8}]}],
}
_SPAN = {"from": "2026-11-01T00:00:00", "to": "2026-11-01T23:59:59", "offset": "0", "field": "ENERGY"}
_ARROW = "application/vnd.apache.arrow.stream"

_STATUS = "/user/verification/status"
EXAMPLES: Mapping[str, Documented] = MappingProxyType(
    {
        "DELETE /account/{accountId}": Documented(
            answer={"valid": True, "accountId": UUID, "userId": UUID, "status": "inactive"}
        ),
        "DELETE /user/{userId}": Documented(answer={"valid": True}),
        "GET /auth/token": Documented(answer=[_TOKEN, {**_TOKEN, **_OF_CLIENT}]),
        "POST /auth/oauth": Documented(body=_AUTHORISATION),
        "POST /auth/oauth/access": Documented(
            body=_EXCHANGE, answer=_GRANTED, media="application/x-www-form-urlencoded"
        ),
        "POST /accountprofile": Documented(
            body={"profileName": "Settings", "dark": True},
            answer={"status": "OK", "profileName": "Settings", "devUserId": UUID},
        ),
        "GET /accountprofile/{profileName}": Documented(answer={"profileName": "Settings", "dark": True}, free=True),
        "GET /accountsession": Documented(answer={"page": "today"}, free=True),
        "PUT /accountsession": Documented(body={"page": "today"}, answer={"page": "today"}, free=True),
        "GET /virtualentity": Documented(answer=[_HOME]),
        "GET /virtualentity/{veId}": Documented(answer=_HOME),
        "DELETE /virtualentity/{veId}": Documented(answer=_HOME),
        "GET /virtualentity/{veId}/attribute": Documented(answer=_ATTRIBUTE),
        "POST /virtualentity/{veId}/attribute": Documented(body={}, answer=_ATTRIBUTE),
        "DELETE /virtualentity/{veId}/attribute": Documented(
            body={"removeAttributes": None}, answer={"status": "OK", **_ATTRIBUTE}
        ),
        "POST /resource": Documented(
            answer={"status": "OK", "valid": True, "resourceId": UUID, "resourceApplicationAccess": [UUID]}
        ),
        "GET /resource/{resourceId}/readings": Documented(
            query={**_READINGS, "offset": "0", "nulls": "1"}, answer=enveloped([[EPOCH, 0.25]], **_READINGS)
        ),
        "POST /resource/{resourceId}/readings": Documented(
            body={"readings": [{"at": TIME, "value": 0.25}], "field": "ENERGY"}, answer={"status": "OK", "recorded": 1}
        ),
        "GET /resource/{resourceId}/current": Documented(answer=enveloped([[EPOCH, 640]])),
        "GET /resource/{resourceId}/first-time": Documented(answer=enveloped({"firstTs": EPOCH})),
        "GET /resource/{resourceId}/last-time": Documented(answer=enveloped({"lastTs": EPOCH})),
        "GET /resource/{resourceId}/tariff": Documented(answer=enveloped([_TARIFF])),
        "POST /alert": Documented(body=_ALERT, answer={"ns_alert_id": UUID, "status": "OK"}),
        "GET /alert/{alertId}": Documented(answer={"ns_alert_id": UUID, **_ALERT, "createdAt": TIME}),
        "GET /alert/user": Documented(answer=[{"ns_alert_id": UUID, **_ALERT, "createdAt": TIME}]),
        "GET /notification/{notificationId}": Documented(answer=_NOTIFICATION),
        "GET /notification/{notificationId}/log": Documented(answer=[_LOG]),
        "POST /template": Documented(
            body={"alertTypeId": UUID, "channelType": "email", "cultureCode": "en-GB", **_TEMPLATE}
        ),
        "GET /template/{alertTypeId}/{channelType}/{cultureCode}": Documented(query={}),
        "POST /template/{alertTypeId}/{channelType}/{cultureCode}": Documented(body=_TEMPLATE),
        f"GET {_STATUS}": Documented(
            answer={
                "meterPointVerification": [{"isVerified": True, "isValidUntil": TIME, "mpxnKey": "mpan", "mpxn": MPXN}]
            }
        ),
        f"POST {_STATUS}/mpxns/renewal": Documented(body=_POINTS, answer=_RENEWED),
        f"POST {_STATUS}/mpxns/revocation": Documented(body=_POINTS, answer=_REVOKED),
        f"POST {_STATUS}/mpxn/{{mpxn}}/renewal": Documented(body={"isValidUntil": TIME}, answer=_RENEWED),
        f"POST {_STATUS}/mpxn/{{mpxn}}/revocation": Documented(body={"isValidUntil": "now"}, answer=_REVOKED),
        f"GET {_STATUS}/mpxn/{{mpxn}}/renewal": Documented(
            query={}, answer=_history("meterPointRenewals", "renewedBy", "meterPointVerificationRenewalId")
        ),
        f"GET {_STATUS}/mpxn/{{mpxn}}/revocation": Documented(
            query={}, answer=_history("meterPointRevocations", "revokedBy", "meterPointVerificationRevocationId")
        ),
        "GET /device": Documented(answer=[_DEVICE]),
        "POST /device": Documented(answer={"status": "OK", "valid": True, "deviceId": UUID}),
        "GET /device/{deviceId}": Documented(answer=_DEVICE),
        "GET /device/resource/{resourceId}": Documented(answer=_DEVICE),
        "GET /discover/{hardwareId}": Documented(answer=_DEVICE),
        "GET /device/{deviceId}/status": Documented(answer=_DEVICE_STATUS),
        "GET /device/status": Documented(query={"tags": "AABBCCDDEEFF"}, answer=_DEVICE_STATUS),
        "GET /device/meter-point/{meterPointNumber}/inventory": Documented(answer=_INVENTORY),
        "GET /device/smart-meter/{eui}/inventory": Documented(answer=_INVENTORY),
        "GET /device/meter-point/{meterPointNumber}/resources": Documented(
            answer={
                "valid": True,
                "mpxn": MPXN,
                "resources": [{"resourceId": UUID, "resourceTypeId": UUID, "classifier": "electricity.consumption"}],
            }
        ),
        "GET /resource/{resourceId}/tariff-list": Documented(answer=enveloped([_TARIFF_CHANGE])),
        "GET /resource/{resourceId}/meterread": Documented(answer=enveloped([[EPOCH, 12345.6]])),
        "GET /resource/{resourceId}/catchup": Documented(answer=enveloped(_CATCH_UP)),
        f"GET /resource/{{resourceId}}/readings {_ARROW}": Documented(query=_SPAN),
        f"GET /resource/{{resourceId}}/platformbinary {_ARROW}": Documented(query=_SPAN),
        f"GET /resource/{{resourceId}}/glowbinary {_ARROW}": Documented(query=_SPAN),
    }
)
"""By method and path, as `SHAPES`."""
