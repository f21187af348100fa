"""The requests that documented curl commands make, so that examples run where there is no curl."""

import shlex
from typing import Any

import httpx


def requests(block: str) -> list[dict[str, Any]]:
    """The arguments of `httpx.Client.request` for each curl command of a shell block."""
    commands: list[list[str]] = []
    for word in shlex.split(block, comments=True):
        if word == "curl":
            commands.append([])
        elif commands and word.strip():
            commands[-1].append(word)
    return [_request(words) for words in commands]


def _request(words: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"method": "GET", "headers": {}}
    rest = iter(words)
    for word in rest:
        match word:
            case "-X":
                made["method"] = next(rest)
            case "-H":
                name, value = next(rest).split(": ", 1)
                made["headers"][name] = value
            case "-u":
                made["auth"] = httpx.BasicAuth(*next(rest).split(":", 1))
            case "-d":
                made["content"] = next(rest)
                made["method"] = "POST" if made["method"] == "GET" else made["method"]
            case _:
                made["url"] = word
    return made
