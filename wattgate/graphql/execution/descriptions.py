"""Descriptions that many types and operations share. A field or an argument without a description gets its one here."""

from collections.abc import Mapping
from types import MappingProxyType

from wattgate.graphql.execution.login_descriptions import LOGIN_FIELD_DESCRIPTIONS
from wattgate.graphql.execution.template_descriptions import TEMPLATE_ARGUMENTS

_ANONYMOUS_OPERATIONS = (
    "authenticate",
    "authorise",
    "register",
    "requestPasswordReset",
    "requestVerification",
    "resetPassword",
    "verifyUser",
)

FIELD_DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        **{
            f"{operation}.applicationId": "ID of the application. Required unless the header `applicationId` has it."
            for operation in _ANONYMOUS_OPERATIONS
        },
        **{
            f"{operation}.directoryId": "ID of the directory that holds the account. Default: the application's own."
            for operation in (*_ANONYMOUS_OPERATIONS, "userByUsername")
        },
        **{
            f"{owner}.field": "Name of the storage field, such as ENERGY. Default: the resource's first field."
            for owner in ("NewAlertRule", "NewReadingColumns", "NewReadings", "rawReadings", "readings")
        },
        **{
            f"{owner}.timeZone": "Time zone that divides the range into buckets: an IANA name or an offset from UTC."
            for owner in ("ReadingSeries", "costs", "readings")
        },
        **LOGIN_FIELD_DESCRIPTIONS,
        "TimeRange.end": "End of the range, exclusive. Default: now.",
        "TimeRange.start": "Start of the range, inclusive.",
        "authorise.state": "Opaque value of the client, which the result returns unchanged.",
        "changeName.name": "New name of the person.",
        "accessLog.after": "ID of the last entry that you have. Default: the list starts at the beginning.",
        "tenancies.first": "Maximum number of tenancies: 1 to 100.",
        "tenancies.after": "ID of the last tenancy that you have. Default: the list starts at the beginning.",
        "consentReceipts.first": "Maximum number of receipts: 1 to 100.",
        "consentReceipts.after": "ID of the last receipt that you have. Default: the list starts at the beginning.",
        "consentChanges.kind": "Return only changes of this kind. Default: all changes.",
        "devices.tags": "Return only devices with this hardware ID, MAC address, EUI or serial number, in any case and "
        "with or without separators. Default: all devices.",
        **{
            f"{owner}.hardwareId": "Hardware ID, MAC address, EUI or serial number of the device, in any case and with "
            "or without separators."
            for owner in ("discover", "discoverHardware")
        },
        "freshness.field": "Name of the storage field, such as ENERGY. Default: the field with the most frequent "
        "readings.",
        "dataExportPart.number": "Number of the part, from 0.",
        "node.id": "Global ID: the value of a field `id`.",
        "nodes.ids": "Global IDs: values of fields `id`.",
        "findDevice.by": "Key of the device: exactly one of its fields.",
        "findUser.by": "Key of the user: exactly one of its fields.",
        **{f"{owner}.userId": "ID of the new owner." for owner in ("moveDevice", "moveResource")},
        **{
            f"{owner}.{argument}": description
            for owner in ("moveMeterPoint", "meterPointMove")
            for argument, description in (
                ("userId", "ID of the user who moves in."),
                ("movedInAt", "When the user moves in, and the one before moves out. Not in the future. Default: now."),
                (
                    "deviceIds",
                    "IDs of the devices of the former user that move. Default: those that measure the meter point.",
                ),
                (
                    "homeName",
                    "Name of the home of the user that the new resources join. A new one has the type and time zone of "
                    "the former user's home. Default: they join no home.",
                ),
            )
        },
        "moveDfsEvent.state": "New state of the event.",
        "optInToDfs.mpxn": "MPAN or MPRN. Default: the only meter point for which the acting user has a valid consent.",
        "optOutOfDfs.mpxn": "MPAN or MPRN of the meter point. Default: all meter points of the acting user.",
        **TEMPLATE_ARGUMENTS,
        "cost.range": "Time range of the bill.",
        "noCostReason.range": "Time range of the cost.",
        "prices.range": "Time range of the half hours.",
        "promptUsers.status": "Return only outcomes with this status.",
        "rawReadings.end": "End of the range, exclusive. Default: the last reading.",
        "rawReadings.start": "Start of the range, inclusive. Default: the first reading.",
        "register.directoryId": "ID of the application's own directory, which is the default and the only valid one.",
        "register.name": "Name of the person.",
        "removeMailSuppression.address": "E-mail address to remove from the list, in any case.",
        "renameUser.status": "Current status of the user, which legacy clients send. Other values are rejected.",
        "renameUser.username": "New username; compared trimmed and in lower case.",
        "resetPassword.token": "Token from the password reset e-mail.",
        "setAccountProfile.data": "JSON object to store.",
        "setRetention.retentionDays": "Age in days at which readings are deleted. Null keeps readings forever.",
        "setVirtualEntityAttributes.attributes": "JSON object whose members are added or replaced.",
        "tariffs.superseded": "Whether to include tariffs that were replaced or withdrawn.",
        "tariffs.upcoming": "Whether to include tariffs that are not yet in force.",
        "verifyMeterPoint.purpose": "Purpose of the use of the data, for the receipt.",
        "verifyMeterPoint.validUntil": "End of the consent, at most 18 months ahead, which is also the default.",
        "renewConsents.validUntil": "End of the consents, at most 18 months ahead, which is also the default.",
        "verifyUser.token": "Code from the verification e-mail.",
        "accountId": "ID of the account.",
        "active": "Whether the record is in use.",
        "accessLog.first": "Maximum number of entries: 1 to 100.",
        "after": "Cursor: the page has only records after it. Default: from the beginning of the list.",
        "auditLog.first": "Maximum number of entries: 1 to 100.",
        "before": "Cursor: the page has only records before it. Default: up to the end of the list.",
        "alertId": "ID of the alert.",
        "alertIds": "IDs of the alerts to mark as read. Default: all alerts of the acting user.",
        "alertTypeId": "ID of the alert type. Inputs also take its short code, such as CM01.",
        "applicationId": "ID of the application that the record belongs to.",
        "at": "Instant of the reading.",
        "attributes": "Free-form metadata, as a JSON object.",
        "baseline": "Earlier time range to compare with.",
        "baseUnit": "Unit of the first storage field, such as kWh.",
        "callbackUrl": "URL that receives the webhooks of the alert. Null if there is none.",
        "catchUp": "The catch-up: a retrieval of readings from the meter network.",
        "catchUpId": "ID of the catch-up.",
        "claimId": "ID of the claim code.",
        "changeId": "ID of the consent change.",
        "channel": "Channel of delivery: email, push or inbox.",
        "channelType": "Channel of delivery.",
        "channels": "Channels of delivery.",
        "city": "Town or city.",
        "classifier": "Dotted category of the measured quantity, such as electricity.consumption.",
        "clientId": "ID of the OAuth client.",
        "clientSecret": "Secret of a confidential OAuth client. Public clients omit it.",
        "clone": "Whether the record is a copy of another one.",
        "currency": "ISO 4217 code of the currency. Always GBP; amounts are in pence.",
        "code": "Authorization code. Required for the grant type authorization_code.",
        "codeChallenge": "PKCE challenge: the SHA-256 hash of the verifier, in base64url without padding.",
        "codeChallengeMethod": "PKCE challenge method. Only S256 is valid.",
        "codeVerifier": "PKCE verifier that belongs to the challenge. Required for the grant type authorization_code.",
        "commissionedAt": "When the device was commissioned. Null if the network does not have the date.",
        "consentId": "ID of the consent.",
        "receiptId": "ID of the receipt.",
        "contentId": "ID of the content object.",
        "count": "Number of records.",
        "country": "ISO 3166 code of the country, such as GB.",
        "createdAt": "When the record was created.",
        "cultureCode": "Language and region, such as en-GB.",
        "data": "Free-form JSON data of the application.",
        "dataAccess": "Whether the user permits access to the data.",
        "dataSourceResourceTypeInfo": "Type of the resource in its data source: text, or an object with type and unit.",
        "dataSourceType": "Kind of the data source that supplies the readings.",
        "dataSourceUnitInfo": "Free-form JSON details of the unit in the data source.",
        "datatype": "Type of the values: fixedpoint(n) with n decimal places, or integer.",
        "days": "Number of days back from now: 1 to 366.",
        "description": "Human-readable description.",
        "deviceId": "ID of the device.",
        "deviceIds": "IDs of the devices to follow.",
        "deviceTypeId": "ID of the device type.",
        "dfsEventId": "ID of the demand flexibility event.",
        "dfsUserId": "ID of the DFS enrolment.",
        "directoryId": "ID of the directory that holds the account.",
        "email": "E-mail address.",
        "endpointId": "ID of the webhook endpoint.",
        "endsAt": "When the event ends.",
        "errorId": "ID of the webhook error.",
        "eui": "EUI-64 of the device on the smart-meter network: 16 hexadecimal digits, with or without separators.",
        "expiresAt": "When the token expires.",
        "faqId": "ID of the set of frequently asked questions.",
        "field": "Name of the storage field, such as ENERGY.",
        "fieldName": "Name of the measured quantity, such as ENERGY.",
        "fields": "Measured quantities of a reading.",
        "finishedAt": "When the job succeeded or failed. Null until then.",
        "exportId": "ID of the export.",
        "first": "Number of records from the start of the list, or after `after`: 1 to 100. Default: 50 if `last` is "
        "absent.",
        "firmwareVersion": "Firmware version of the device.",
        "function": "Function that combines the readings of a bucket into one value.",
        "functionalGroupAccounts": "Always empty. Legacy clients expect this field.",
        "geoCoordinates": "Latitude and longitude.",
        "grantType": "OAuth grant type: authorization_code or refresh_token.",
        "hardwareId": "Identifier of the device in the application, usually its MAC address.",
        "hardwareIds": "Further identifiers of the hardware.",
        "htmlTemplate": "HTML source with markers in double braces, such as {{name}}.",
        "input": "Values of the record.",
        "inventory": "Devices that the meter network has at the meter point.",
        "isTempAuth": "Always false. Legacy clients expect this field.",
        "kind": "Kind of the consent change.",
        "label": "Short name for lists.",
        "last": "Number of records from the end of the list, or before `before`: 1 to 100. Do not combine it with "
        "`first`.",
        "languageContentId": "ID of the language content object.",
        "location": "Free-form location, such as a street address.",
        "manufacturer": "Manufacturer of the device.",
        "message": "Human-readable text.",
        "minimumVersion": "Oldest app version that the questions apply to: dotted numbers, such as 1.2.0.",
        "model": "Hardware model of the device.",
        "mpxn": "Number of the meter point: an MPAN (electricity) or an MPRN (gas).",
        "movedInAt": "When the user moved in at the meter point. Another user who lives there moves out then. If the "
        "user lives there already, it corrects the start: readings from before a later start are deleted. Not in the "
        "future.",
        "mpxnKey": "Network of the meter point.",
        "mpxns": "Numbers of the meter points: MPANs (electricity) or MPRNs (gas).",
        "name": "Display name.",
        "names": "Names of the members to remove.",
        "negative": "Whether negative values are allowed.",
        "newPassword": "New password of at least 8 characters, none of the most common ones.",
        "newToken": "Push token of an app, or the push subscription of a browser as JSON.",
        "newVirtualEntities": "Numbers of virtual entities that were added recently.",
        "notificationId": "ID of the notification.",
        "numberOfAttempts": "Number of delivery attempts so far.",
        "oldPassword": "Current password.",
        "openStreetMapsRef": "Reference of the place on OpenStreetMap.",
        "options": "Resources of the user with this resource type.",
        "overlapHours": "How many hours the old secret stays valid beside the new one: 0 to 168.",
        "ownerId": "ID of the user who owns the record.",
        "parentHardwareId": "Hardware identifiers of the devices that this device is connected to.",
        "participationId": "ID of the participation.",
        "password": "Password of the account.",
        "period": "Length of a bucket.",
        "postalCode": "Postcode.",
        "prices": "Rates of the half hours.",
        "postcode": "Postcode, in any case and spacing.",
        "priority": "Urgency of the alert: High or Low.",
        "profileName": "Name of the profile, unique in the account.",
        "profileNames": "Names of the account's profiles, in alphabetical order.",
        "promptId": "ID of the prompt.",
        "promptTypeId": "ID of the prompt type.",
        "promptUserId": "ID of the prompt outcome.",
        "protocol": "Protocol of the device and its sensors.",
        "quality": "Quality of the reading.",
        "question": "Text of the question.",
        "range": "Time range. All buckets that overlap it are returned.",
        "redirectUri": "Redirect URI of the client, exactly as it is registered.",
        "reference": "Key of the subject, chosen by the app, such as app or dfs.",
        "refreshToken": "Refresh token. Required for the grant type refresh_token.",
        "removeToken": "Push token to remove.",
        "reply": "Text of the answer.",
        "required": "Whether a virtual entity of the type must have a resource of this resource type.",
        "resource": "The resource that the values belong to.",
        "resourceId": "ID of the resource.",
        "resourceIdList": "IDs of the resources.",
        "resourceIds": "IDs of the resources to follow.",
        "resourceTypeId": "ID of the resource type.",
        "resources": "Resources that belong to the record.",
        "revisedSince": "Return only buckets whose readings were received, replaced or withdrawn after this instant. A "
        "bucket whose readings were all withdrawn has the value null. Totals still cover all buckets. Default: all "
        "buckets.",
        "revokedAt": "When the consent was revoked. Null if it was not.",
        "sampling": "`regular` (at a fixed interval) or `irregular` (at any time).",
        "ruleId": "ID of the alert rule.",
        "scope": "Requested OAuth scopes, separated by spaces: read, write.",
        "sensors": "Sensors of the device.",
        "serialNumber": "Serial number from the manufacturer. Null if not known.",
        "series": "Readings, grouped by resource and field.",
        "since": "Position to resume from: `extensions.position` of the last payload that the client processed. To "
        "leave out the argument and to pass null differ. With null, the first payload is null and carries the current "
        "position; the newest records follow, and gaps are reported. Without the argument, the subscription delivers "
        "only new events, and ends with an error if events are lost.",
        "stage": "Step in words, such as Sent or Attempt Failed.",
        "startedAt": "When a worker started the catch-up. Null until then.",
        "startsAt": "When the event starts.",
        "state": "Current state.",
        "status": "Current status.",
        "statusAt": "When the status last changed.",
        "steps": "Whether to publish an alert again at every step of one of its notifications.",
        "storage": "How readings are stored.",
        "supportDetailsId": "ID of the support details.",
        "systemAlertTypeId": "Short code of the alert type, such as CM01.",
        "tags": "Hardware ID of the device, in any case and with or without separators.",
        "tariffId": "ID of the tariff.",
        "tcId": "ID of the version of terms and conditions.",
        "tcUserId": "ID of the answer to terms and conditions.",
        "telephone": "Telephone number.",
        "templateId": "ID of the template.",
        "testMail": "The test mail.",
        "testMailId": "ID of the test mail.",
        "timeZone": "IANA name of the time zone, such as Europe/London.",
        "title": "Heading of the text.",
        "token": "Bearer token.",
        "tokenId": "ID of the token record. It is not the token itself.",
        "totalVirtualEntities": "Number of active virtual entities.",
        "unit": "Unit of the values, such as kWh.",
        "updatedAt": "When the record last changed.",
        "url": "Web address.",
        "userActionId": "ID of the user action.",
        "userActionTypeId": "ID of the user action type.",
        "userGroups": "Always empty. Legacy clients expect this field.",
        "userId": "ID of the user.",
        "username": "Login name of the account; compared trimmed and in lower case.",
        "valid": "Whether the call succeeded. Always true, because a failed call returns an error.",
        "validFrom": "When the record comes into force.",
        "validUntil": "When the consent ends.",
        "value": "Measured value.",
        "values": "JSON object with the members to set.",
        "veId": "ID of the virtual entity.",
        "veTypeId": "ID of the virtual entity type.",
        "version": "Version: dotted numbers, such as 1.2.0, for an app.",
        "webhookId": "ID of the webhook.",
        "weekStart": "First day of the week, for buckets of P1W.",
    }
)
"""Descriptions by name of a field or argument, or by `owner.name` if one owner needs its own words.

The owner of a field is its type; the owner of an argument is its field.
"""


def description_for(owner: str, name: str, own_description: str | None = None) -> str | None:
    """Return the description of a field of a type, or of an argument of a field.

    The one from the declaration comes first, then the one in FIELD_DESCRIPTIONS of `owner.name`, then of `name`.
    """
    return own_description or FIELD_DESCRIPTIONS.get(f"{owner}.{name}") or FIELD_DESCRIPTIONS.get(name)
