"""Example requests and responses of the endpoints with a legacy format. A test checks them against the schemas."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

UUID = "3f2b8c1e-6d54-4a7b-9c0d-1e2f3a4b5c6d"
TIME = "2026-11-20T10:00:00.000Z"
MPXN = "1234567890123"
EPOCH = 1_795_000_000


@dataclass(frozen=True, slots=True)
class EndpointExamples:
    """Examples of an endpoint's request body and response. None means that it has no example."""

    body: Any = None
    response: Any = None


def acknowledgement_example(members: Iterable[str]) -> dict[str, Any]:
    """Return an example of the response that acknowledges a change."""
    return {"status": "OK", **dict.fromkeys(members, UUID)}


def envelope_example(data: Any, *, units: str = "kWh", **query: str) -> dict[str, Any]:
    """Return the legacy envelope around the data of a resource."""
    return {
        "status": "OK",
        "name": "electricity consumption",
        "resourceTypeId": UUID,
        "resourceId": UUID,
        "query": query,
        "data": data,
        "units": units,
        "classifier": "electricity.consumption",
    }


_TOKEN = {"tokenId": UUID, "userId": UUID, "accountId": UUID, "createdAt": TIME, "expiresAt": TIME}
_OAUTH_CLIENT = {"authenticationFramework": "oauth", "grant_type": "refresh_token"}
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
    "state": "any text of the client",
}
_TOKEN_EXCHANGE = {
    "client_id": UUID,
    "client_secret": "the client's secret",
    "grant_type": "authorization_code",
    "code": "the authorization code",
    "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "redirect_uri": _REDIRECT,
}
_GRANTED_TOKENS = {
    "token_type": "bearer",
    "access_token": "the access token",
    "expires_in": 604800,
    "refresh_token": "the refresh token",
    "refresh_type": "the refresh token",
    "scope": "read",
}
_READINGS_QUERY = {"from": "2026-11-01T00:00:00", "to": "2026-11-01T23:59:59", "period": "PT30M", "function": "sum"}
_HOME = {
    "veId": UUID,
    "veTypeId": UUID,
    "applicationId": UUID,
    "ownerId": UUID,
    "name": "12 Alder Road",
    "description": None,
    "location": None,
    "city": "Leeds",
    "country": "GB",
    "postalCode": "LS6 3QT",
    "geoCoordinates": None,
    "openStreetMapsRef": None,
    "timeZone": None,
    "attributes": None,
    "clone": False,
    "active": True,
    "createdAt": TIME,
    "updatedAt": TIME,
    "resources": [{"resourceId": UUID, "resourceTypeId": UUID, "name": "electricity consumption"}],
    "veChildren": [],
}
_ATTRIBUTES = {"floor": "2"}
_ATTRIBUTE = {"veId": UUID, "attribute": _ATTRIBUTES}
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
    "dataToFill": {"name": "Ada"},
}
_SENT_ALERT = {
    "ns_alert_id": UUID,
    "applicationId": UUID,
    **_ALERT,
    "send2Email": "yes",
    "push": "no",
    "inbox": "yes",
    "createdAt": TIME,
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
_METER_POINTS = {"meterPoints": [{"mpxn": MPXN}]}
_RENEWALS = {
    "valid": True,
    "meterPointVerificationRenewals": [
        {"mpxn": MPXN, "valid": True, "meterPointVerificationRenewalId": UUID, "isValidUntil": TIME}
    ],
}
_REVOCATIONS = {
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
    "proof": "APPLICATION",
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

_STATUS_PATH = "/user/verification/status"
EXAMPLES: Mapping[str, EndpointExamples] = MappingProxyType(
    {
        "DELETE /account/{accountId}": EndpointExamples(
            response={"valid": True, "accountId": UUID, "userId": UUID, "status": "inactive"}
        ),
        "DELETE /user/{userId}": EndpointExamples(response={"valid": True}),
        "GET /auth/token": EndpointExamples(response=[_TOKEN, {**_TOKEN, **_OAUTH_CLIENT}]),
        "POST /auth/oauth": EndpointExamples(body=_AUTHORISATION),
        "POST /auth/oauth/access": EndpointExamples(body=_TOKEN_EXCHANGE, response=_GRANTED_TOKENS),
        "POST /accountprofile": EndpointExamples(
            body={"profileName": "Settings", "dark": True},
            response={"status": "OK", "profileName": "Settings", "devUserId": UUID},
        ),
        "GET /accountprofile/{profileName}": EndpointExamples(response={"profileName": "Settings", "dark": True}),
        "GET /accountsession": EndpointExamples(response={"page": "today"}),
        "PUT /accountsession": EndpointExamples(body={"page": "today"}, response={"page": "today"}),
        "GET /virtualentity": EndpointExamples(response=[_HOME]),
        "GET /virtualentity/{veId}": EndpointExamples(response=_HOME),
        "DELETE /virtualentity/{veId}": EndpointExamples(response=_HOME),
        "POST /virtualentity/{veId}/resources": EndpointExamples(response=_HOME),
        "DELETE /virtualentity/{veId}/resources/{resourceId}": EndpointExamples(response=_HOME),
        "GET /virtualentity/{veId}/attribute": EndpointExamples(response=_ATTRIBUTE),
        "POST /virtualentity/{veId}/attribute": EndpointExamples(body=_ATTRIBUTES, response=_ATTRIBUTE),
        "DELETE /virtualentity/{veId}/attribute": EndpointExamples(
            body={"removeAttributes": ["floor"]}, response={"status": "OK", "veId": UUID, "attribute": {}}
        ),
        "POST /resource": EndpointExamples(
            response={"status": "OK", "valid": True, "resourceId": UUID, "resourceApplicationAccess": [UUID]}
        ),
        "GET /resource/{resourceId}/readings": EndpointExamples(
            response=envelope_example([[EPOCH, 0.25]], **_READINGS_QUERY),
        ),
        "POST /resource/{resourceId}/readings": EndpointExamples(
            body={"readings": [{"at": TIME, "value": 0.25}], "field": "ENERGY"},
            response={"status": "OK", "recorded": 1, "withoutConsent": 0},
        ),
        "GET /resource/{resourceId}/current": EndpointExamples(response=envelope_example([[EPOCH, 640]], units="W")),
        "GET /resource/{resourceId}/first-time": EndpointExamples(response=envelope_example({"firstTs": EPOCH})),
        "GET /resource/{resourceId}/last-time": EndpointExamples(response=envelope_example({"lastTs": EPOCH})),
        "GET /resource/{resourceId}/tariff": EndpointExamples(response=envelope_example([_TARIFF])),
        "POST /alert": EndpointExamples(body=_ALERT, response={"ns_alert_id": UUID, "status": "OK"}),
        "GET /alert/{alertId}": EndpointExamples(response=_SENT_ALERT),
        "GET /alert/user": EndpointExamples(response=[_SENT_ALERT]),
        "GET /notification/{notificationId}": EndpointExamples(response=_NOTIFICATION),
        "GET /notification/{notificationId}/log": EndpointExamples(response=[_LOG]),
        "POST /template": EndpointExamples(
            body={"alertTypeId": UUID, "channelType": "email", "cultureCode": "en-GB", **_TEMPLATE}
        ),
        "POST /template/{alertTypeId}/{channelType}/{cultureCode}": EndpointExamples(body=_TEMPLATE),
        f"GET {_STATUS_PATH}": EndpointExamples(
            response={
                "meterPointVerification": [{"isVerified": True, "isValidUntil": TIME, "mpxnKey": "mpan", "mpxn": MPXN}]
            }
        ),
        f"POST {_STATUS_PATH}/mpxns/renewal": EndpointExamples(body=_METER_POINTS, response=_RENEWALS),
        f"POST {_STATUS_PATH}/mpxns/revocation": EndpointExamples(body=_METER_POINTS, response=_REVOCATIONS),
        f"POST {_STATUS_PATH}/mpxn/{{mpxn}}/renewal": EndpointExamples(body={"isValidUntil": TIME}, response=_RENEWALS),
        f"POST {_STATUS_PATH}/mpxn/{{mpxn}}/revocation": EndpointExamples(
            body={"isValidUntil": "now"}, response=_REVOCATIONS
        ),
        f"GET {_STATUS_PATH}/mpxn/{{mpxn}}/renewal": EndpointExamples(
            response=_history("meterPointRenewals", "renewedBy", "meterPointVerificationRenewalId")
        ),
        f"GET {_STATUS_PATH}/mpxn/{{mpxn}}/revocation": EndpointExamples(
            response=_history("meterPointRevocations", "revokedBy", "meterPointVerificationRevocationId")
        ),
        "GET /device": EndpointExamples(response=[_DEVICE]),
        "POST /device": EndpointExamples(response={"status": "OK", "valid": True, "deviceId": UUID}),
        "GET /device/{deviceId}": EndpointExamples(response=_DEVICE),
        "PUT /device/{deviceId}": EndpointExamples(response=_DEVICE),
        "DELETE /device/{deviceId}": EndpointExamples(response=_DEVICE),
        "PUT /device/{deviceId}/owner": EndpointExamples(response=_DEVICE),
        "GET /device/resource/{resourceId}": EndpointExamples(response=_DEVICE),
        "GET /discover/{hardwareId}": EndpointExamples(response=_DEVICE),
        "GET /device/{deviceId}/status": EndpointExamples(response=_DEVICE_STATUS),
        "GET /device/status": EndpointExamples(response=_DEVICE_STATUS),
        "GET /device/meter-point/{meterPointNumber}/inventory": EndpointExamples(response=_INVENTORY),
        "GET /device/smart-meter/{eui}/inventory": EndpointExamples(response=_INVENTORY),
        "GET /device/meter-point/{meterPointNumber}/resources": EndpointExamples(
            response={
                "valid": True,
                "mpxn": MPXN,
                "resources": [{"resourceId": UUID, "resourceTypeId": UUID, "classifier": "electricity.consumption"}],
            }
        ),
        "GET /resource/{resourceId}/tariff-list": EndpointExamples(response=envelope_example([_TARIFF_CHANGE])),
        "GET /resource/{resourceId}/meterread": EndpointExamples(response=envelope_example([[EPOCH, 12345.6]])),
        "GET /resource/{resourceId}/catchup": EndpointExamples(response=envelope_example(_CATCH_UP)),
    }
)
"""Examples by `RestRoute.route_key`: method and path, and the media type if it is not JSON."""
