"""Bounds of the texts, lists and JSON values in arguments, and the check that `Runner` makes for every interface.

The tables name the maximum of each argument and input field: by `owner.name` where it differs, else by name. `owner` is
the field of an argument or the type of an input field, in GraphQL names. A test fails for an argument without a bound.
"""

import types
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import strawberry

from wattgate.delivery.openid.tokens import MAX_TOKEN_CHARACTERS
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, Problem, ProblemPath
from wattgate.graphql.core.decoded_readings import DecodedReadings
from wattgate.graphql.core.edge import EdgeField
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.scalars import Json
from wattgate.stored_json import UnstorableJson, check_json, is_storable_text

MAX_ID_CHARACTERS = 200
"""Maximum characters of an ID. IDs that the gateway assigns have 36."""

MAX_LIST_ITEMS = 1_000
"""Maximum items of a list that `LIST_LIMITS` does not name."""

_NAME, _CODE, _TEXT, _URL, _SOURCE, _SECRET = 200, 100, 2_000, 2_048, 200_000, 1_024

TEXT_LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "EUI": _CODE,
        "MAC": _CODE,
        "MPAN": _CODE,
        "MPRN": _CODE,
        "address": 500,
        "after": 500,
        "accessToken": MAX_TOKEN_CHARACTERS,
        "alertTypeId": _NAME,
        "algorithms": _CODE,
        "audiences": _NAME,
        "baseUnit": _CODE,
        "before": 500,
        "NewDeviceClaim.code": _CODE,
        "callbackUrl": _URL,
        "city": _NAME,
        "claimCode": _CODE,
        "classifier": _CODE,
        "clientId": MAX_ID_CHARACTERS,
        "clientSecret": _SECRET,
        "code": _SECRET,
        "codeChallenge": 128,
        "codeChallengeMethod": _CODE,
        "codeVerifier": 128,
        "country": _CODE,
        "cultureCode": _CODE,
        "approveDisplayPairing.name": _CODE,
        "dataSourceType": _CODE,
        "datatype": _CODE,
        "description": _TEXT,
        "deviceCode": _SECRET,
        "directoryToken": 4 * MAX_TOKEN_CHARACTERS,
        "email": 254,
        "end": _CODE,
        "eui": _CODE,
        "events": _CODE,
        "field": _CODE,
        "fieldName": _CODE,
        "geoCoordinates": _NAME,
        "grantType": _CODE,
        "hardwareId": _NAME,
        "homeName": _NAME,
        "html": _SOURCE,
        "htmlTemplate": _SOURCE,
        "interval": _CODE,
        "issuer": 500,
        "label": _NAME,
        "location": 500,
        "message": 10_000,
        "minimumVersion": _CODE,
        "mpxn": _CODE,
        "mpxns": _CODE,
        "name": _NAME,
        "names": _NAME,
        "newPassword": _SECRET,
        "newToken": 8_192,
        "oldPassword": _SECRET,
        "openStreetMapsRef": 500,
        "parentHardwareId": _NAME,
        "password": _SECRET,
        "postalCode": _CODE,
        "postcode": _CODE,
        "preheader": _TEXT,
        "profileName": _NAME,
        "promptId": MAX_ID_CHARACTERS,
        "promptTypeId": MAX_ID_CHARACTERS,
        "protocol": _CODE,
        "protocolId": MAX_ID_CHARACTERS,
        "question": _TEXT,
        "purpose": _NAME,
        "quietFrom": _CODE,
        "quietTo": _CODE,
        "redirectUri": _URL,
        "reference": _NAME,
        "refreshToken": _SECRET,
        "removeToken": 8_192,
        "renamePairedDisplay.name": _CODE,
        "reply": 10_000,
        "sampling": _CODE,
        "scope": _NAME,
        "serialNumber": _CODE,
        "since": 16_384,
        "source": _CODE,
        "start": _CODE,
        "startDisplayPairing.name": _CODE,
        "state": _TEXT,
        "status": _CODE,
        "subject": _TEXT,
        "systemAlertTypeId": _NAME,
        "tags": _NAME,
        "tcId": MAX_ID_CHARACTERS,
        "telephone": _CODE,
        "text": _SOURCE,
        "timeZone": _CODE,
        "title": 500,
        "token": _SECRET,
        "type": _CODE,
        "unit": _CODE,
        "url": _URL,
        "userActionTypeId": MAX_ID_CHARACTERS,
        "userCode": _CODE,
        "username": 254,
        "version": _CODE,
    }
)
"""Maximum characters of texts. An e-mail address has at most 254 (RFC 5321), a code verifier 128 (RFC 7636)."""

LIST_LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "NewReadingColumns.at": 100_000,
        "NewReadingColumns.quality": 100_000,
        "NewReadingColumns.value": 100_000,
        "NewReadings.readings": 100_000,
        "recordReadingColumns.series": 10_000,
        "recordReadings.series": 10_000,
        "setTariffPrices.prices": 100_000,
        "markAlertsRead.alertIds": 10_000,
        "nodes.ids": 50,
    }
)
"""Maximum items of lists that differ from MAX_LIST_ITEMS. Their resolvers have lower bounds with their own errors."""

Check = Callable[[Any, ProblemPath, list[Problem]], None]
"""Append the problems of a value at a path."""


def text_limit(owner: str, name: str) -> int | None:
    """Return the maximum characters of a text argument or input field, or None if the tables do not name it."""
    return TEXT_LIMITS.get(f"{owner}.{name}", TEXT_LIMITS.get(name))


def list_limit(owner: str, name: str) -> int:
    """Return the maximum items of a list argument or input field."""
    return LIST_LIMITS.get(f"{owner}.{name}", MAX_LIST_ITEMS)


def describe_limits(owner: str, name: str, *, is_text: bool, is_list: bool) -> str:
    """Return the sentences about the bounds of an argument for its description, or an empty text."""
    characters = text_limit(owner, name) if is_text else None
    sentences = [f"At most {list_limit(owner, name):,} items."] if is_list else []
    if characters is not None:
        sentences.append(f"{'Each has at' if is_list else 'At'} most {characters:,} characters.")
    return " ".join(sentences)


def check_arguments(operation: Operation, arguments: Mapping[str, Any]) -> None:
    """Raise BadInput if an argument of an operation exceeds a bound, with each problem."""
    _run_checks(_operation_checks(operation), arguments)


def check_edge_arguments(edge: EdgeField, arguments: Mapping[str, Any]) -> None:
    """Raise BadInput if an argument of an edge exceeds a bound, with each problem."""
    if arguments:
        _run_checks(_edge_checks(edge), arguments)


def _run_checks(checks: Mapping[str, tuple[str, Check]], arguments: Mapping[str, Any]) -> None:
    problems: list[Problem] = []
    for name, (graphql_name, check) in checks.items():
        value = arguments.get(name)
        if value is not None:
            check(value, (graphql_name,), problems)
    if problems:
        raise BadInput("An argument exceeds its bounds. See `problems`.", problems=problems)


@cache
def _operation_checks(operation: Operation) -> Mapping[str, tuple[str, Check]]:
    hints = {name: argument.annotation for name, argument in operation.arguments.items()}
    return _checks_of(to_camel_case(operation.name), hints)


@cache
def _edge_checks(edge: EdgeField) -> Mapping[str, tuple[str, Check]]:
    return _checks_of("", get_type_hints(edge.load, include_extras=True))


def _checks_of(owner: str, hints: Mapping[str, Any]) -> Mapping[str, tuple[str, Check]]:
    checks = {}
    for name, hint in hints.items():
        graphql_name = to_camel_case(name)
        if (check := _check_of(owner, graphql_name, hint)) is not None:
            checks[name] = graphql_name, check
    return checks


def _check_of(owner: str, name: str, hint: Any) -> Check | None:
    """Return the check of a value of this type, or None if it needs none."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _check_of(owner, name, parts[0])
    if origin in (Union, types.UnionType):
        checks = [_check_of(owner, name, part) for part in parts if part is not types.NoneType]
        return next((check for check in checks if check is not None), None)
    if origin is list:
        return _list_check(list_limit(owner, name), _check_of(owner, name, parts[0]))
    if hint is Json:
        return _check_json_value
    if hint is strawberry.ID:
        return _text_check(MAX_ID_CHARACTERS)
    if hint is str:
        limit = text_limit(owner, name)
        return None if limit is None else _text_check(limit)
    definition = getattr(hint, "__strawberry_definition__", None)
    return _object_check(hint, definition) if getattr(definition, "is_input", False) else None


def _text_check(maximum: int) -> Check:
    def check(value: Any, path: ProblemPath, problems: list[Problem]) -> None:
        if not isinstance(value, str):
            return
        if len(value) > maximum:
            problems.append(Problem(path, f"has {len(value):,} characters; the maximum is {maximum:,}"))
        elif not is_storable_text(value):
            problems.append(Problem(path, "has U+0000 or half of a surrogate pair, which cannot be stored"))

    return check


def _list_check(maximum: int, item_check: Check | None) -> Check:
    def check(value: Any, path: ProblemPath, problems: list[Problem]) -> None:
        if not isinstance(value, list | tuple | DecodedReadings):
            return
        if len(value) > maximum:
            problems.append(Problem(path, f"has {len(value):,} items; the maximum is {maximum:,}"))
        elif item_check is not None:
            for index, item in enumerate(value):
                item_check(item, (*path, index), problems)

    return check


def _object_check(input_type: Any, definition: Any) -> Check | None:
    hints = get_type_hints(input_type, include_extras=True)
    fields = []
    for field in definition.fields:
        graphql_name = field.graphql_name or to_camel_case(field.python_name)
        if (check := _check_of(definition.name, graphql_name, hints[field.python_name])) is not None:
            fields.append((field.python_name, graphql_name, check))
    if not fields:
        return None

    def check_object(value: Any, path: ProblemPath, problems: list[Problem]) -> None:
        for attribute, name, check in fields:
            check(getattr(value, attribute, None), (*path, name), problems)

    return check_object


def _check_json_value(value: Any, path: ProblemPath, problems: list[Problem]) -> None:
    if value is strawberry.UNSET:
        return
    try:
        check_json(value)
    except UnstorableJson as error:
        problems.append(Problem(path, str(error)))
