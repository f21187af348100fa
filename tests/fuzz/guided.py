"""Search by coverage for inputs that break a property of a parser, with atheris: `python -m tests.fuzz.guided`.

Each harness has a folder in build/fuzz with its seeds, the inputs that reached further branches, and those that broke a
property. A later run begins with the inputs of earlier ones. atheris has wheels for some interpreters only. Where it is
missing, the command says so and succeeds: `tests/fuzz/test_parsers.py` sends mutations without it.
"""

import argparse
import hashlib
import logging
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.fuzz.harness import MAX_INPUT_BYTES

FOLDER = Path(__file__).parents[2] / "build" / "fuzz"

INSTRUMENTED = {
    "http": ["wattgate.app.server.edge.http_protocol", "wattgate.app.server.gate.request_heads", "h11"],
    "frames": [
        "wattgate.realtime.connections.wires.frame_wire",
        "wattgate.realtime.connections.protocol",
        "websockets",
    ],
    "csv": [
        "wattgate.reading_files.csv_columns",
        "wattgate.reading_files.line_reader",
        "wattgate.energy.plain_columns",
        "wattgate.values.decimals",
    ],
    "profiles": ["wattgate.reading_files"],
    "prices": ["wattgate.price_sources"],
    "ndjson": ["wattgate.rest_compat.bulk_intake", "wattgate.graphql.transport", "wattgate.energy.plain_columns"],
    "arrow": ["wattgate.rest_compat.arrow"],
    "meter-messages": ["wattgate.energy.meters.meter_messages", "wattgate.values.decimals"],
    "templates": ["wattgate.delivery.templates", "liquid"],
    "tokens": ["wattgate.delivery.openid", "jwt"],
}
"""The modules and packages whose branches guide the search, by harness. All others would take minutes."""

HARNESSES = "tests.fuzz.harnesses"

MAX_INPUT_SECONDS = 20
"""Seconds after which an input counts as one that never ends. Most take a millisecond."""

MAX_MEMORY_MB = 2_048

AT_ONCE = 2
"""How many harnesses run at the same time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Search with some or all harnesses, or check the inputs of files. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("names", nargs="*", help="the harnesses; by default all")
    parser.add_argument("--seconds", type=int, default=30, help="seconds for each harness")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the mutations, from 1")
    parser.add_argument("--input", type=Path, action="append", help="check this file with the only harness, and end")
    parser.add_argument("--search", action="store_true", help=argparse.SUPPRESS)  # one harness, in this process
    options = parser.parse_args(arguments)
    if options.search:
        return _search(options.names[0], options.seconds, options.seed)
    harnesses = {harness.name: harness for harness in import_module(HARNESSES).HARNESSES}
    if unknown := set(options.names) - harnesses.keys():
        parser.error(f"there are no harnesses {', '.join(sorted(unknown))}; use some of {', '.join(harnesses)}")
    names = options.names or list(harnesses)
    if options.input:
        for name, path in ((name, path) for name in names for path in options.input):
            is_accepted = harnesses[name].check(path.read_bytes())
            print(f"{name}: {path} breaks no property; it is {'accepted' if is_accepted else 'refused'}")  # noqa: T201
        return 0
    if find_spec("atheris") is None:
        print("atheris is not installed: it has wheels for CPython 3.11 to 3.13 on Linux. No search by coverage.")  # noqa: T201
        return 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        searches = pool.map(lambda name: _run_search(name, options.seconds, options.seed), names)
        return max(searches)


def _run_search(name: str, seconds: int, seed: int) -> int:
    """Search with one harness in a process of its own. Print the end of its output, and return whether it failed."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.guided", "--search", name]
    process = subprocess.run(
        [*command, "--seconds", str(seconds), "--seed", str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    lines = [line for line in process.stdout.splitlines() if "Instrumenting" not in line]
    if process.returncode == 0:
        statistics = next((line for line in reversed(lines) if "exec/s" in line), "no statistics")
        print(f"{name}: no property is broken. {' '.join(statistics.split())}", flush=True)  # noqa: T201
        return 0
    inputs = ", ".join(str(path) for path in sorted((FOLDER / name / "broken").iterdir())) or "none was written"
    print(  # noqa: T201
        f"{name}: FAILED with status {process.returncode}\n{chr(10).join(lines[-40:])}\n"
        f"Inputs: {inputs}. To check one: {sys.executable} -m tests.fuzz.guided {name} --input <file>",
        flush=True,
    )
    return 1


def _search(name: str, seconds: int, seed: int) -> int:
    """Search with one harness until the time has passed or a property is broken. libFuzzer ends the process."""
    atheris: Any = import_module("atheris")
    logging.disable(logging.CRITICAL)
    with atheris.instrument_imports(include=INSTRUMENTED[name]):
        harnesses = import_module(HARNESSES).HARNESSES
    (harness,) = (one for one in harnesses if one.name == name)
    folder = FOLDER / name
    seeds, found, broken = (folder / part for part in ("seeds", "found", "broken"))
    for part in (seeds, found, broken):
        part.mkdir(parents=True, exist_ok=True)
    for data in harness.seeds:
        (seeds / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    dictionary = folder / "pieces"
    dictionary.write_text("".join(f'"{_escaped(piece)}"\n' for piece in harness.pieces))
    options = {
        "max_total_time": seconds,
        "seed": seed,
        "max_len": MAX_INPUT_BYTES,
        "timeout": MAX_INPUT_SECONDS,
        "rss_limit_mb": MAX_MEMORY_MB,
        "dict": dictionary,
        "artifact_prefix": f"{broken}/",
    }
    atheris.Setup([name, *(f"-{key}={value}" for key, value in options.items()), str(found), str(seeds)], harness.check)
    atheris.Fuzz()
    return 0


def _escaped(piece: bytes) -> str:
    """Return a piece in the format of dictionaries of libFuzzer."""
    return "".join(f"\\x{byte:02x}" for byte in piece)


if __name__ == "__main__":
    sys.exit(main())
