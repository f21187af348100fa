"""Pair displays with homes by a code, and list, rename and revoke paired displays."""

from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.users import displays_of_users
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.enums import PairingState
from wattgate.errors import BadInput, Conflict, NotFound, NotSupported, Problem, QuotaExceeded
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, Unaudited, operation
from wattgate.operations.credentials.credential_endings import end_displays
from wattgate.operations.credentials.login import application_directory, require_account, rows_for_login
from wattgate.operations.homes.display_pairing import (
    KEPT_AFTER_EXPIRY,
    PAIRING_LIFETIME,
    ClaimedPairing,
    answer_pairing,
    check_display_quota,
    claim_pairing,
    find_open_pairing,
    pair_page,
    start_pairing,
)
from wattgate.operations.types.homes import paired_displays as types
from wattgate.operations.types.identity import accounts as account_types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import MUTATION_WEIGHT, QR_CODE_WEIGHT, ListSize
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.requests.client import AddressPolicy
from wattgate.values import terms
from wattgate.values.annotations import Described


@operation(
    OperationKind.MUTATION,
    returns=types.DisplayPairing,
    needs=Permission.ANYONE,
    audit=Unaudited("A display acts on its own pairing only."),
    rest=(
        RestRoute("POST", "/displaypairing", Tag.PAIRED_DISPLAYS),
        RestRoute(
            "POST",
            "/auth/oauth/device",
            Tag.LOGIN,
            summary="Start a pairing as an OAuth 2.0 device authorization (RFC 8628).",
        ),
    ),
    raises=(NotSupported,),
    address_policy=AddressPolicy.PAIRING,
    weight=MUTATION_WEIGHT + QR_CODE_WEIGHT,
)
async def start_display_pairing(
    call: Call,
    *,
    application_id: ids.LoginApplicationId | None = None,
    name: Annotated[
        terms.Text100, Described("Name that the display suggests, such as its model. The user can change it.")
    ] = "",
) -> types.DisplayPairing:
    """Start to pair a display with a home. The display shows the user code, and then calls `claimDisplayPairing`.

    A user enters the code at `verificationUri` and chooses a home. `name` is the name that the display suggests.
    """
    rows = rows_for_login(call, application_id)
    await application_directory(rows)
    address = pair_page(call)
    started = await start_pairing(call, rows, address, _clean_name(name))
    return types.DisplayPairing(
        device_code=started.device_code,
        user_code=started.user_code,
        verification_uri=address,
        verification_uri_complete=started.complete_page,
        expires_in=int(PAIRING_LIFETIME.total_seconds()),
        interval=started.pairing.interval,
        qr_code=started.qr_code,
    )


@operation(
    OperationKind.MUTATION,
    returns=types.DisplayPairingClaim,
    needs=Permission.ANYONE,
    audit=Unaudited("A display acts on its own pairing only."),
    rest=RestRoute("POST", "/displaypairing/claim", Tag.PAIRED_DISPLAYS),
    raises=(QuotaExceeded,),
    address_policy=AddressPolicy.CODE,
)
async def claim_display_pairing(
    call: Call, *, device_code: terms.DeviceCode, application_id: ids.LoginApplicationId | None = None
) -> types.DisplayPairingClaim:
    """Return the state of a pairing to its display, and the credential of the display once after the approval.

    A second use of an approved device code ends the credential. The error has the reason `expired_token` or
    `invalid_grant` if the display must start again.
    """
    claimed = await claim_pairing(call, rows_for_login(call, application_id), device_code)
    return _build_claim(claimed)


def _build_claim(claimed: ClaimedPairing) -> types.DisplayPairingClaim:
    return types.DisplayPairingClaim(
        state=claimed.state,
        interval=claimed.interval,
        token=claimed.token,
        expires_at=None if claimed.display is None else claimed.display.expires_at,
        display=claimed.display,  # type: ignore[arg-type] # a row has the attributes of the type
    )


@operation(
    OperationKind.MUTATION,
    returns=types.DisplayPairingRequest,
    needs=Permission.PAIRED_DISPLAY_WRITE,
    audit=Unaudited("It changes only the count of wrong codes."),
    rest=RestRoute("POST", "/displaypairing/check", Tag.PAIRED_DISPLAYS),
    raises=(NotFound,),
)
async def check_display_pairing(call: Call, *, user_code: terms.UserCode) -> models.DisplayPairing:
    """Return the pairing with a code that waits for an answer. Wrong codes are counted, as wrong passwords are."""
    account = await require_account(call)
    return await find_open_pairing(call, account.user_id, user_code)


@operation(
    OperationKind.MUTATION,
    returns=types.DisplayPairingRequest,
    needs=Permission.PAIRED_DISPLAY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/displaypairing/approve", Tag.PAIRED_DISPLAYS),
    raises=(NotFound, Conflict, QuotaExceeded),
)
async def approve_display_pairing(
    call: Call,
    *,
    user_code: terms.UserCode,
    ve_id: Annotated[Id, Described("ID of the home that the display may read.")],
    name: Annotated[
        terms.Text100, Described("Name of the display, such as Kitchen. Default: the name that it suggests.")
    ]
    | None = None,
) -> types.DisplayPairingRequest:
    """Let the display with this code read one home of the calling account's user, until the user revokes it.

    The display is listed when it has taken its credential. Without `name`, it keeps the name that it suggests.
    """
    account = await require_account(call)
    pairing = await find_open_pairing(call, account.user_id, user_code)
    chosen_name = pairing.name if name is None else _require_name(name)
    home = await call.rows.get(models.VirtualEntity, ve_id)
    if home.owner_id != account.user_id:
        raise NotFound(f"You have no home with ID {ve_id}.")
    if not home.active:
        raise Conflict(f"Home {ve_id} is closed. Open it again with updateHome.")
    await check_display_quota(call.rows, account.user_id)
    await answer_pairing(call.rows, pairing, PairingState.APPROVED, name=chosen_name, account=account, ve_id=home.ve_id)
    return types.DisplayPairingRequest(name=chosen_name, expires_at=pairing.expires_at)


@operation(
    OperationKind.MUTATION,
    returns=types.DisplayPairingRequest,
    needs=Permission.PAIRED_DISPLAY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/displaypairing/deny", Tag.PAIRED_DISPLAYS),
    raises=(NotFound,),
    rest_result=account_types.DONE,
)
async def deny_display_pairing(call: Call, *, user_code: terms.UserCode) -> types.DisplayPairingRequest:
    """Refuse the display with this code. Its codes become invalid."""
    account = await require_account(call)
    pairing = await find_open_pairing(call, account.user_id, user_code)
    await answer_pairing(call.rows, pairing, PairingState.DENIED)
    return types.DisplayPairingRequest(name=pairing.name, expires_at=pairing.expires_at)


@operation(
    OperationKind.QUERY,
    returns=list[types.PairedDisplay],
    needs=Permission.PAIRED_DISPLAY_READ,
    rest=RestRoute("GET", "/paireddisplay", Tag.PAIRED_DISPLAYS),
    sizes=[ListSize(3)],
    in_graphql=("viewer", "pairedDisplays"),
)
async def paired_displays(call: Call) -> list[models.PairedDisplay]:
    """List the paired displays of the acting user, oldest first. A user has at most 50."""
    return (await displays_of_users(call.rows, [require_user_id(call)]))[0]


@operation(
    OperationKind.QUERY,
    returns=types.PairedDisplay,
    needs=Permission.OWN_DISPLAY,
    rest=RestRoute("GET", "/paireddisplay/own", Tag.PAIRED_DISPLAYS),
)
async def own_display(call: Call) -> models.PairedDisplay:
    """Return the paired display whose credential the request carries."""
    return await _find_own_display(call)


@operation(
    OperationKind.MUTATION,
    returns=types.PairedDisplay,
    needs=Permission.OWN_DISPLAY,
    audit=Unaudited("A display ends its own credential."),
    rest=RestRoute("DELETE", "/paireddisplay/own", Tag.PAIRED_DISPLAYS),
    raises=(NotFound,),
    rest_result=account_types.DONE,
)
async def end_own_display(call: Call) -> models.PairedDisplay:
    """End the credential of the paired display that calls. It must be paired again."""
    display = await _find_own_display(call)
    await end_displays(call, call.rows, [display])
    return display


@operation(
    OperationKind.MUTATION,
    returns=types.PairedDisplay,
    needs=Permission.PAIRED_DISPLAY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", "/paireddisplay/{displayId}", Tag.PAIRED_DISPLAYS),
)
async def rename_paired_display(
    call: Call, *, display_id: ids.DisplayId, name: Annotated[terms.Text100, Described("New name of the display.")]
) -> models.PairedDisplay:
    """Change the name of a paired display."""
    display = await call.rows.edit(models.PairedDisplay, display_id)
    display.name = _require_name(name)
    return display


@operation(
    OperationKind.MUTATION,
    returns=types.PairedDisplay,
    needs=Permission.PAIRED_DISPLAY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/paireddisplay/{displayId}", Tag.PAIRED_DISPLAYS),
    rest_result=account_types.DONE,
)
async def revoke_paired_display(call: Call, *, display_id: ids.DisplayId) -> models.PairedDisplay:
    """End the credential of a paired display. All gateways close its connections within 1 second."""
    display = await call.rows.get(models.PairedDisplay, display_id)
    await end_displays(call, call.rows, [display])
    return display


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_old_pairings(call: Call) -> list[str]:
    """Return the applications with pairings or paired displays that have expired."""
    pairings = await call.rows.application_ids_with(
        models.DisplayPairing, col(models.DisplayPairing.expires_at) <= call.rows.now - KEPT_AFTER_EXPIRY
    )
    displays = await call.rows.application_ids_with(
        models.PairedDisplay, col(models.PairedDisplay.expires_at) <= call.rows.now
    )
    return sorted({*pairings, *displays})


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def purge_pairings(call: Call) -> None:
    """Delete the pairings and the paired displays of the application that have expired."""
    old = col(models.DisplayPairing.expires_at) <= call.rows.now - KEPT_AFTER_EXPIRY
    await call.rows.delete(models.DisplayPairing, old)
    await call.rows.delete(models.PairedDisplay, col(models.PairedDisplay.expires_at) <= call.rows.now)


async def _find_own_display(call: Call) -> models.PairedDisplay:
    display = await call.rows.first(models.PairedDisplay, col(models.PairedDisplay.token_id) == call.principal.token_id)
    if display is None:
        raise NotFound("The credential belongs to no paired display.")
    return display


def _clean_name(name: str) -> str:
    """Return a name in one line, without surrounding white space."""
    return " ".join(name.split())


def _require_name(name: str) -> str:
    """Return a name as `_clean_name` does. Raise BadInput if it is empty."""
    cleaned = _clean_name(name)
    if not cleaned:
        raise BadInput("A display needs a name, such as Kitchen.", problems=[Problem(("name",), "is empty")])
    return cleaned
