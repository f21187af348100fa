"""Verification of the tokens that providers issue: JSON Web Tokens with a signature (RFC 7519, RFC 8725)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
from jwt.types import Options

from wattgate.delivery.openid.keys import SigningKey
from wattgate.errors import Unauthenticated
from wattgate.values.stored_json import is_storable_text
from wattgate.values.terms import to_one_line

MAX_TOKEN_CHARACTERS = 16_384
"""Maximum characters of a token of a provider. Entra ID sends up to 200 groups, which are 11,000 characters."""

MAX_TOKEN_LIFETIME = timedelta(days=31)
"""Maximum time between `iat` and `exp`. Auth0 issues access tokens for up to 30 days."""

MAX_LOGIN_AGE = timedelta(hours=24)
"""Maximum age (`iat`) of a token that logs in. Providers issue ID tokens for up to 24 hours."""

MAX_SUBJECT_CHARACTERS = 255
"""Maximum characters of a subject (OpenID Connect Core, section 2)."""

MAX_CLAIM_CHARACTERS = 200
"""Maximum characters of the name of a person. Longer ones are cut."""

MAX_EMAIL_CHARACTERS = 254

TOKEN_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
"""Values of `typ`, in lower case. Others, such as logout+jwt, are tokens for another purpose."""

_OPTIONS: Options = {
    "require": ["iss", "sub", "aud", "exp", "iat"],
    "verify_exp": False,  # `verify_token` checks the times by the clock of the gateway
    "verify_nbf": False,
    "verify_iat": False,
}

_JWT = re.compile(r"ey[A-Za-z0-9_-]{0,16384}\.[A-Za-z0-9_-]{0,16384}\.[A-Za-z0-9_-]{0,16384}")
"""The form of a JSON Web Token: its header is an object, and {" begins with ey in base64url."""


class RejectedToken(Unauthenticated):
    """A token of a directory that is not valid. The message says why."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The token of the directory {problem}.", reason="invalid_token")
        self.problem = problem


class WrongSignature(RejectedToken):
    """A token that none of the known keys has signed."""


@dataclass(frozen=True, slots=True)
class TokenRules:
    """The conditions that the token of a directory must meet. `azp` may be an audience or the `client_id`."""

    issuer: str
    audiences: tuple[str, ...]
    algorithms: tuple[str, ...]
    clock_skew: timedelta
    client_id: str = ""


@dataclass(frozen=True, slots=True)
class TokenHeader:
    """The header of a token that is not verified yet."""

    algorithm: str
    key_id: str | None


@dataclass(frozen=True, slots=True)
class ExternalToken:
    """The claims of a verified token. `email` is empty unless the provider states that it is verified."""

    issuer: str
    subject: str
    issued_at: datetime
    expires_at: datetime
    email: str = ""
    name: str = ""


def looks_like_jwt(text: str) -> bool:
    """Return whether a text has the form of a JSON Web Token. The gateway's own tokens have no dots."""
    return _JWT.fullmatch(text) is not None


def read_header(token: str, rules: TokenRules) -> TokenHeader:
    """Return the header of a token. Raise RejectedToken if it is malformed or its algorithm is not allowed."""
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise RejectedToken(f"has {len(token):,} characters; the maximum is {MAX_TOKEN_CHARACTERS:,}")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise RejectedToken("is not a JSON Web Token") from None
    algorithm, key_id, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in rules.algorithms:
        raise RejectedToken(f"has the algorithm {algorithm!r:.40}; the directory allows {', '.join(rules.algorithms)}")
    if "crit" in header:
        raise RejectedToken("has critical extensions (crit), which are not supported")
    if not isinstance(kind, str) or kind.lower() not in TOKEN_TYPES:
        raise RejectedToken(f"has the type {kind!r:.40}; ID tokens and access tokens are accepted")
    return TokenHeader(algorithm, key_id if isinstance(key_id, str) else None)


def read_issuer(token: str) -> str | None:
    """Return the issuer that an unverified token names, to select the directory that verifies it."""
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, RecursionError):
        return None
    issuer = claims.get("iss")
    return issuer if isinstance(issuer, str) else None


def verify_token(token: str, keys: Sequence[SigningKey], rules: TokenRules, now: datetime) -> ExternalToken:
    """Return the claims of a token that one of these keys has signed. Raise RejectedToken if it is not valid now."""
    claims = _verify_signature(token, keys, rules)
    _check_purpose(claims, rules)
    issued_at, expires_at = _instant(claims, "iat"), _instant(claims, "exp")
    not_before = _instant(claims, "nbf") if "nbf" in claims else issued_at
    if expires_at <= now - rules.clock_skew:
        raise RejectedToken("has expired")
    if max(not_before, issued_at) > now + rules.clock_skew:
        raise RejectedToken("is not valid yet")
    if expires_at - issued_at > MAX_TOKEN_LIFETIME:
        raise RejectedToken(f"is valid for more than {MAX_TOKEN_LIFETIME.days} days (iat, exp), which is not accepted")
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_CHARACTERS or not is_storable_text(subject):
        raise RejectedToken(f"has a subject (sub) that is not a text of 1 to {MAX_SUBJECT_CHARACTERS} characters")
    return ExternalToken(
        issuer=rules.issuer,
        subject=subject,
        issued_at=issued_at,
        expires_at=expires_at,
        email=_text(claims, "email", MAX_EMAIL_CHARACTERS) if _has_verified_email(claims) else "",
        name=_text(claims, "name", MAX_CLAIM_CHARACTERS),
    )


def _check_purpose(claims: Mapping[str, Any], rules: TokenRules) -> None:
    """Raise RejectedToken for a token of another client, and for a logout or event token, whatever its type is."""
    if "events" in claims:
        raise RejectedToken("reports events, such as a log-out; ID tokens and access tokens are accepted")
    if "azp" in claims and claims["azp"] not in (*rules.audiences, *filter(None, (rules.client_id,))):
        raise RejectedToken(
            "was issued to another client (azp) than the directory accepts. If it is yours, add it to the audiences"
        )


def _has_verified_email(claims: Mapping[str, Any]) -> bool:
    """Return whether the provider states that the address of a token is verified.

    Amazon Cognito and Apple send the boolean as a text. Entra ID sends no `email_verified`, but its optional claim
    `xms_edov` says whether the owner of the domain is verified. Without either, an address counts as not verified:
    in Entra ID, administrators of any tenant can set it.
    """
    stated = claims.get("email_verified", claims.get("xms_edov"))
    return stated is True or str(stated).lower() == "true" or ("email_verified" not in claims and stated in (1, "1"))


def _verify_signature(token: str, keys: Sequence[SigningKey], rules: TokenRules) -> Mapping[str, Any]:
    """Return the claims of a token, which the library has verified, except for the times."""
    for key in keys:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm],
                audience=rules.audiences,
                issuer=rules.issuer,
                options=_OPTIONS,
            )
            return claims
        except jwt.InvalidSignatureError:
            continue
        except jwt.InvalidAudienceError:
            raise RejectedToken("has another audience (aud) than the directory accepts") from None
        except jwt.InvalidIssuerError:
            raise RejectedToken("has another issuer (iss) than the directory") from None
        except jwt.MissingRequiredClaimError as error:
            raise RejectedToken(f"has no claim {error.claim}") from None
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise RejectedToken("is not a JSON Web Token with valid claims") from None
    raise WrongSignature("is not signed by a key of the directory")


def _instant(claims: Mapping[str, Any], name: str) -> datetime:
    """Return the instant of a claim in seconds since 1970."""
    seconds = claims[name]
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < 2**37:
        return datetime.fromtimestamp(seconds, UTC)
    raise RejectedToken(f"has a claim {name} that is not a number of seconds since 1970")


def _text(claims: Mapping[str, Any], name: str, maximum: int) -> str:
    """Return a claim as one line, and an empty text for one that is no text: a log-in does not fail because of it."""
    text = claims.get(name)
    return to_one_line(text)[:maximum] if isinstance(text, str) and is_storable_text(to_one_line(text)) else ""
