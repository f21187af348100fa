"""The user system, as the legacy interface has it."""

from collections.abc import Mapping
from typing import Any

from wattgate.rest_compat.exchange import Answer
from wattgate.rest_compat.shapes.shape import Shape


def _closed(answer: Answer) -> dict[str, Any]:
    return {"valid": True, **{name: answer.told[name] for name in ("accountId", "userId", "status")}}


IDENTITY: Mapping[str, Shape] = {
    "POST /auth": Shape(refused={"valid": False}),
    "DELETE /auth/deleteToken": Shape(refused={"valid": False}),
    "DELETE /account/{accountId}": Shape(body=_closed),
}
