"""GraphQL types of the second factor of an account."""

from datetime import datetime

import strawberry


@strawberry.type(description="Second factor of an account: codes of an app, by time (TOTP).")
class SecondFactor:
    enabled: bool = strawberry.field(description="Whether a log-in needs a code.")
    required: bool = strawberry.field(
        description="Whether the account must enrol a second factor before it can do anything else."
    )
    confirmed_at: datetime | None = strawberry.field(description="When it was confirmed. Null if it is not enabled.")
    recovery_codes: int = strawberry.field(description="Number of recovery codes that were not used.")


@strawberry.type(description="Secret of a new second factor, which is shown only in this result.")
class SecondFactorEnrolment:
    secret: str = strawberry.field(description="Secret in base32, to type into an app.")
    uri: str = strawberry.field(description="Address with otpauth:, to show as a QR code.")


@strawberry.type(description="Recovery codes of a second factor, which are shown only in this result.")
class RecoveryCodes:
    recovery_codes: list[str] = strawberry.field(
        description="Ten codes. Each replaces a code of the app once, such as after the loss of the phone."
    )
