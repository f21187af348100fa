"""The pages leave out the secrets of the real interfaces: the REST reference in its code, the IDE in its storage."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from graphql import GraphQLInputObjectType, GraphQLObjectType, build_schema

from tests.support.node import Node
from tests.support.openapi import DOCUMENT

ROOT = Path(__file__).parents[2]
ADDRESS = "https://gateway.example/api/v0-1/openapi.json"
LIKE_SECRET = re.compile("token|secret|pass|code|key|pin|otp|credential|challenge|verif", re.IGNORECASE)

SECRETS = {"accessToken", "claimCode", "clientSecret", "code", "directoryToken", "newPassword"} | {
    "deviceCode",
    "oldPassword",
    "password",
    "token",
}
IN_REST = SECRETS | {"client_secret", "code_verifier", "device_code", "refresh_token", "newToken", "removeToken"}
IN_GRAPHQL = SECRETS | {"codeVerifier", "refreshToken", "pushToken"}
PUBLIC = {"codeChallenge", "codeChallengeMethod", "code_challenge", "code_challenge_method", "cultureCode"} | {
    "postalCode",
    "postcode",
    "tokenCheck",
    "tokenId",
    "userCode",  # a screen shows it to everybody in the room
}
"""Names that look like those of secrets."""


def input_names() -> set[str]:
    """Return the names of all arguments and input fields of the schema."""
    types = build_schema((ROOT / "docs" / "reference" / "schema.graphql").read_text()).type_map.values()
    names: set[str] = set()
    for type_ in types:
        if isinstance(type_, GraphQLInputObjectType):
            names.update(type_.fields)
        elif isinstance(type_, GraphQLObjectType):
            names.update(name for field in type_.fields.values() for name in field.args)
    return names


async def test_each_secret_of_the_interfaces_is_left_out(node_scripts: Node) -> None:
    inputs = input_names()
    process = await asyncio.create_subprocess_exec(
        node_scripts.executable,
        ROOT / "tests" / "javascript" / "list-secrets.mjs",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    given = {"document": DOCUMENT, "address": ADDRESS, "inputs": sorted(inputs)}
    printed, _ = await process.communicate(json.dumps(given).encode())
    found: dict[str, Any] = json.loads(printed)
    assert set(found["rest"]["hidden"]) == IN_REST
    assert set(found["graphql"]) == IN_GRAPHQL
    # A new name that looks like the name of a secret has to be put in one of the two lists.
    names = set(found["rest"]["sent"]) | inputs
    assert {name for name in names if LIKE_SECRET.search(name)} <= IN_REST | IN_GRAPHQL | PUBLIC
