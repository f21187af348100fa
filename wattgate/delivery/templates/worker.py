"""The process that works on large templates: it reads tasks from its input and writes their results to its output.

The kernel ends it if a task takes too much processor time or memory. No thread can be ended like this, and native code
that inlines styles cannot be interrupted. `renderer.py` starts the process and starts another one in its place.
"""

import json
import sys
import time
import traceback
from math import ceil
from typing import Any, BinaryIO

import msgspec

from wattgate.delivery.templates.language import diagnostics
from wattgate.delivery.templates.language.diagnostics import TemplateError
from wattgate.delivery.templates.language.output_writer import DEFAULT_RENDER_LIMITS
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.delivery.templates.scope import RenderScope
from wattgate.delivery.templates.tasks import TASKS

try:
    import resource
except ImportError:  # Windows has no limits of this kind; the time limit of the parent remains
    resource = None  # type: ignore[assignment]

LENGTH_BYTES = 4
"""Bytes of the length in front of each message."""

TEMPLATE_ERRORS = {
    error.__name__: error
    for error in (
        diagnostics.TemplateSyntaxError,
        diagnostics.TemplateLimitExceeded,
        diagnostics.MissingVariables,
        diagnostics.UnsafeTemplateValues,
    )
}
"""The errors that a result can have, by name."""


def encode_message(content: object) -> bytes:
    """Return a message: its length and its content in JSON, which also has halves of surrogate pairs and NaN."""
    encoded = json.dumps(content).encode()
    return len(encoded).to_bytes(LENGTH_BYTES) + encoded


def limit_memory(max_bytes: int) -> None:
    """Limit the address space of this process, where the system supports it."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))


def limit_processor_time(seconds: int) -> None:
    """Let the kernel end this process after some more seconds of processor time."""
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (ceil(used.ru_utime + used.ru_stime) + seconds, hard))


def run_task(request: dict[str, Any]) -> dict[str, Any]:
    """Run a task and return its result, or its error. An unexpected error goes to the log with its traceback."""
    task, _ = TASKS[request["task"]]
    try:
        scope = msgspec.convert(request["scope"], RenderScope)
        result = task(TemplateSource(**request["source"]), request["data"], DEFAULT_RENDER_LIMITS, scope)
    except TemplateError as error:
        return {"error": type(error).__name__, "findings": msgspec.to_builtins(error.findings)}
    except MemoryError:
        return {"error": "TemplateLimitExceeded", "findings": []}
    except Exception:  # noqa: BLE001 (the supervisor of tasks: the parent reports it as an internal error)
        return {"failure": traceback.format_exc()}
    return {"result": msgspec.to_builtins(result)}


def serve(requests: BinaryIO, responses: BinaryIO, *, cpu_seconds: int) -> None:
    """Run tasks until the input ends. An empty message at the start says that the process is ready.

    Each response has the `seconds` of processor time of its task.
    """
    responses.write(encode_message({}))
    responses.flush()
    while length := requests.read(LENGTH_BYTES):
        encoded = requests.read(int.from_bytes(length))
        started = time.process_time()
        request = json.loads(encoded)
        limit_processor_time(cpu_seconds)
        response = run_task(request)
        responses.write(encode_message({**response, "seconds": time.process_time() - started}))
        responses.flush()


if __name__ == "__main__":
    limit_memory(int(sys.argv[1]))
    serve(sys.stdin.buffer, sys.stdout.buffer, cpu_seconds=int(sys.argv[2]))
