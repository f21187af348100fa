"""GraphQL types of displays that are paired with a home by a code (RFC 8628)."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.db.queries.content import reference_loader
from wattgate.enums import PairingState
from wattgate.operations.core.fields import edge, list_field
from wattgate.operations.types.homes.virtual_entities import VirtualEntity
from wattgate.operations.vocabulary import ids
from wattgate.principal import Permission


@strawberry.type(description="Display that a user has paired with a home. It has a credential of its own.")
class PairedDisplay:
    display_id: ids.DisplayId
    user_id: ids.UserId
    ve_id: strawberry.ID = strawberry.field(description="ID of the only home that the display can read.")
    name: str = strawberry.field(description="Name that the user gave, such as Kitchen.")
    created_at: datetime = strawberry.field(description="When the display took its credential.")
    last_seen_at: datetime = strawberry.field(description="When the display was in use last, to the hour.")
    expires_at: datetime = strawberry.field(
        description="When its credential expires. Each use moves it to 400 days later."
    )
    virtual_entity: VirtualEntity | None = edge(
        reference_loader(models.VirtualEntity, "ve_id"),
        needs=Permission.VIRTUAL_ENTITY_READ,
        description="Home that the display shows. Null if the caller may not see it.",
    )


@strawberry.type(description="Pairing that a display has started: codes that are valid for 10 minutes.")
class DisplayPairing:
    device_code: str = strawberry.field(description="Secret with which the display asks for its credential.")
    user_code: str = strawberry.field(description="Code that the user enters, such as BCDF-2345.")
    verification_uri: str = strawberry.field(description="Address of the page on which the user enters the code.")
    verification_uri_complete: str = strawberry.field(description="Same address with the code, for a link or QR code.")
    expires_in: int = strawberry.field(description="Lifetime of both codes, in seconds.")
    interval: int = strawberry.field(description="Minimum time between two calls of `claimDisplayPairing`, in seconds.")
    qr_code: list[str] = list_field(
        37,
        description="Rows of the QR code of `verificationUriComplete`, from the top. Each module is 1 (dark) or 0 "
        "(light). The display draws a margin of four light modules around it.",
    )


@strawberry.type(description="Answer to a display that asks for its credential.")
class DisplayPairingClaim:
    state: PairingState = strawberry.field(description="State of the pairing: PENDING, APPROVED or DENIED.")
    interval: int = strawberry.field(
        description="Minimum time until the next call, in seconds. It grows by 5 if the display calls too often."
    )
    token: str | None = strawberry.field(
        description="Credential to send in the header `token`, or as `Authorization: Bearer`. Null unless the state is "
        "APPROVED. It is shown only in this result."
    )
    expires_at: datetime | None = strawberry.field(
        description="When the credential expires. Null unless the state is APPROVED."
    )
    display: PairedDisplay | None = strawberry.field(description="The display. Null unless the state is APPROVED.")


@strawberry.type(description="Pairing that waits for the answer of a user.")
class DisplayPairingRequest:
    name: str = strawberry.field(description="Name of the display. Empty if the display suggests none.")
    expires_at: datetime = strawberry.field(description="When the code expires.")
