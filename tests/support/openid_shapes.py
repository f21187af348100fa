"""The shapes of metadata and tokens of well-known OpenID providers, written by hand from their documentation.

The values belong to nobody. `BASE` stands for the scheme and host of the provider.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.support.openid import AUDIENCE

BASE = "{base}"
TENANT = "8f0e4d2c-0000-4000-8000-5d1c2b3a4f5e"

EMAIL = "ada@example.org"


@dataclass(frozen=True, slots=True)
class ProviderShape:
    """A provider: its issuer as the guide has it, the path of the issuer, and what its tokens contain.

    `access` are the claims of an access token, None for a provider whose access tokens are no JSON Web Tokens.
    """

    name: str
    issuer: str
    path: str
    claims: dict[str, Any]
    email: str = EMAIL
    kind: str = "JWT"
    metadata: dict[str, Any] = field(default_factory=dict)
    access: dict[str, Any] | None = None
    access_kind: str = "JWT"


_MAIL = {"email": EMAIL, "email_verified": True}

SHAPES = (
    ProviderShape(
        "Keycloak",
        "https://HOST/realms/REALM",
        "/realms/energy",
        {**_MAIL, "sub": "f3c1c8a2-1b7e-4a57-9d0e-000000000001", "typ": "ID", "azp": AUDIENCE, "sid": "a1", "acr": "1"},
        metadata={"backchannel_logout_supported": True, "frontchannel_logout_supported": True},
        access={"aud": [AUDIENCE, "account"], "azp": AUDIENCE, "typ": "Bearer", "realm_access": {"roles": ["user"]}},
    ),
    ProviderShape(
        "Entra ID",
        "https://login.microsoftonline.com/TENANT/v2.0",
        f"/{TENANT}/v2.0",
        {"email": EMAIL, "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ", "tid": TENANT, "ver": "2.0", "uti": "u"},
        email="",
        metadata={"tenant_region_scope": "EU", "cloud_instance_name": "microsoftonline.com"},
    ),
    ProviderShape(
        "Auth0",
        "https://TENANT.eu.auth0.com/",
        "/",
        {**_MAIL, "sub": "auth0|66a0000000000000000000aa", "sid": "s", "updated_at": "2026-11-01T10:00:00.000Z"},
        access={"aud": [AUDIENCE, f"{BASE}/userinfo"], "azp": AUDIENCE, "scope": "openid profile", "gty": "password"},
        access_kind="at+jwt",
    ),
    ProviderShape(
        "Okta",
        "https://HOST.okta.com/oauth2/default",
        "/oauth2/default",
        {
            **_MAIL,
            "sub": "00u00000000000000000",
            "ver": 1,
            "jti": "ID.x",
            "amr": ["pwd"],
            "idp": "00o0",
            "auth_time": 1,
        },
        access={"ver": 1, "cid": "0oa0", "uid": "00u0", "scp": ["openid"], "sub": EMAIL},
    ),
    ProviderShape(
        "Google",
        "https://accounts.google.com",
        "",
        {**_MAIL, "sub": "110000000000000000000", "azp": AUDIENCE, "at_hash": "x", "hd": "example.org"},
    ),
    ProviderShape(
        "Authentik",
        "https://HOST/application/o/SLUG/",
        "/application/o/energy/",
        {"email": EMAIL, "email_verified": False, "sub": "0" * 64, "acr": "goauthentik.io/providers/oauth2/default"},
        email="",
    ),
    ProviderShape(
        "Zitadel",
        "https://HOST",
        "",
        {
            **_MAIL,
            "sub": "163840776835432705",
            "aud": [AUDIENCE, "163840776835432345"],
            "azp": AUDIENCE,
            "amr": ["pwd"],
        },
        access={"aud": [AUDIENCE, "163840776835432345"], "client_id": AUDIENCE, "jti": "V2_1"},
    ),
)
