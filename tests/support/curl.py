"""Parse documented curl commands, so that tests can send their requests without curl."""

import shlex
from typing import Any

import httpx


def requests(block: str) -> list[dict[str, Any]]:
    """Return the arguments of `httpx.Client.request` for each curl command of a shell block."""
    commands: list[list[str]] = []
    for word in shlex.split(block, comments=True):
        if word == "curl":
            commands.append([])
        elif commands and word.strip():
            commands[-1].append(word)
    return [_request(words) for words in commands]


def _request(words: list[str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {"method": "GET", "headers": {}}
    remaining = iter(words)
    for word in remaining:
        match word:
            case "-X":
                arguments["method"] = next(remaining)
            case "-H":
                name, value = next(remaining).split(": ", 1)
                arguments["headers"][name] = value
            case "-u":
                arguments["auth"] = httpx.BasicAuth(*next(remaining).split(":", 1))
            case "-d":
                arguments["content"] = next(remaining)
                arguments["method"] = "POST" if arguments["method"] == "GET" else arguments["method"]
            case _:
                arguments["url"] = word
    return arguments
