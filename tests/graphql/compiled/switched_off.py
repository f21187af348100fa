"""What the tests of plans are worth: each check of a plan is switched off once, and the tests that see it are told.

    python -m tests.graphql.compiled.switched_off [name ...]

runs tests/graphql/compiled once for each check, in a process of its own.
docs/explanation/executor.md has the table that came of it.
"""

import builtins
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from graphql import OperationType, Undefined

from wattgate.graphql.core.context import Context
from wattgate.graphql.execution.compiled import arguments, codegen, engine, values

CHOSEN = "WATTGATE_TEST_SWITCHED_OFF"


def _fast(name: str, condition: str) -> Callable[[], None]:
    return lambda: codegen.FAST.update({name: condition})


def _edited(pattern: str, replacement: str) -> Callable[[], None]:
    """Change the source of every plan."""

    def compile_edited(text: str, *more: Any) -> Any:
        return builtins.compile(re.sub(pattern, replacement, text), *more)

    return lambda: setattr(codegen, "compile", compile_edited)


def _set(where: Any, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(where, name, value)


async def _unchecked_members(levels: Any, name: Any, c: Any, v: Any, rows: Any) -> list[Any]:
    names = [name(row) for row in rows]
    groups = {one: [row for known, row in zip(names, rows, strict=True) if known == one] for one in names}
    made = await values.together(*[levels[one](c, v, some) for one, some in groups.items()])
    following = {one: iter(results) for one, results in zip(groups, made, strict=True)}
    return [next(following[one]) for one in names]


def _any_row(self: Any, value: Any) -> None:
    if values.nothing(value):
        raise values.Fault("no object")


def _any_value(self: Any, value: Any) -> None:
    if self._kind.is_type_of is not None and self._kind.is_type_of(value, self._told) is not True:
        raise values.Fault("another object")


def _whatever_comes(coerce: Any) -> Any:
    def coerced(value: Any) -> Any:
        if values.nothing(value):
            raise values.Fault("no leaf")
        return coerce(value)

    return coerced


def _remembered_for_good(self: Any, schema: Any, kind: Any) -> None:
    _CLASSES(self, schema, kind)
    self._by_class = True


def _one_plan(self: Any, document: Any, variables: Any) -> Any:
    document.conditions = ()
    return _COMPILED(self, document, variables)


async def _again(self: Any, _key: str, operation: Any, given: Any) -> Any:
    return await self.runner.run(operation, self.principal, given)


async def _from_the_start(self: Any, plan: Any, call: Any, document: Any, given: Any, _done: Any) -> Any:
    return await _GO_ON(self, plan, call, document, given, {})


async def _at_once(self: Any, plan: Any, call: Any, _document: Any, variables: Any, done: Any) -> Any:
    query: Any = SimpleNamespace(kind=OperationType.QUERY)
    return await _RUN(self, plan, call, query, variables, done)


async def _cancelled(self: Any, plan: Any, call: Any, document: Any, variables: Any, done: Any) -> Any:
    async def complete(key: str, root: Any) -> None:
        done[key] = await root(call, variables)

    if document.kind is OperationType.MUTATION:
        return await _RUN(self, plan, call, document, variables, done)
    await values.together(*[complete(key, root) for key, root in plan.roots.items()])
    return {key: done[key] for key in plan.roots}


def _null_at_its_place(plan: Any, call: Any, error: Any) -> Any:
    told = _EXPECTED(plan, call, error)
    return told and told._replace(data=dict.fromkeys(plan.slots))


_CLASSES, _COMPILED, _GO_ON = values.Classes.__init__, engine.Engine.compiled, engine.Engine._go_on
_RUN, _EXPECTED = engine.Engine._run, engine._expected
_NOTHING = values.nothing

SWITCHES: dict[str, Callable[[], None]] = {
    "class of String": _fast("String", "{0} is None"),
    "class of ID": _fast("ID", "{0} is None"),
    "class of Boolean": _fast("Boolean", "{0} is None"),
    "class of Int": _fast("Int", "not -2147483648 <= {0} <= 2147483647"),
    "range of Int": _fast("Int", "{0}.__class__ is not int"),
    "class of Float": _fast("Float", "{0} - {0} != 0.0"),
    "Float is finite": _fast("Float", "{0}.__class__ is not float"),
    "class of an enum": _edited(r"if (\w+)\.__class__ is enum_\d+ else \w+\(\1\)", ""),
    "null, undefined, error, awaitable": _set(values, "nothing", lambda value: value is None),
    "only undefined": _set(values, "nothing", lambda value: value is not Undefined and _NOTHING(value)),
    "a leaf that serialises to null": _set(codegen, "plain", _whatever_comes),
    "class of objects": _set(values.Classes, "check", lambda self, value: None),
    "class of objects, except null": _set(values.Classes, "check", _any_row),
    "class of objects, only null": _set(values.Classes, "check", _any_value),
    "is_type_of that inspects the value": _set(values.Classes, "__init__", _remembered_for_good),
    "impossible member, inline": _edited(r"raise Fault\(\w+\)", "pass"),
    "impossible member, of a level": _set(codegen, "mixed", _unchecked_members),
    "lists": _set(codegen, "as_list", lambda value: value),
    "length of an edge's result": _set(codegen, "aligned", lambda found, parents: found),
    "arguments that resolvers may modify": _set(arguments, "FOR_GOOD", (object,)),
    "optional variables": _set(arguments, "NonNullTypeNode", object),
    "one function for each combination of conditions": _set(engine.Engine, "compiled", _one_plan),
    "operations run once": _set(Context, "answer", _again),
    "completed parts are kept": _set(engine.Engine, "_go_on", _from_the_start),
    "mutations run one after the other": _set(engine.Engine, "_run", _at_once),
    "queries finish beside one that fails": _set(engine.Engine, "_run", _cancelled),
    "an error of a non-null root": _set(engine, "_expected", _null_at_its_place),
}
"""What is switched off, by what it looks at."""


def pytest_configure() -> None:
    """As a plugin: switch off what the environment names."""
    SWITCHES[os.environ[CHOSEN]]()


def red(name: str) -> Counter[str]:
    """How many tests of each module fail without a check."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "--show-capture=no",
        "-p",
        __spec__.name,
        "tests/graphql/compiled",
    ]
    done = subprocess.run(command, env={**os.environ, CHOSEN: name}, capture_output=True, text=True, check=False)
    if "passed" not in done.stdout and "failed" not in done.stdout:
        raise RuntimeError(done.stdout + done.stderr)
    return Counter(re.findall(r"^(?:FAILED|ERROR) tests/graphql/compiled/test_(\w+)\.py", done.stdout, re.MULTILINE))


MODULES = ("single_faults", "differential", "events", "gateway", "engine")


def main(names: list[str]) -> None:
    write = sys.stdout.write
    write(f"| switched off | {' | '.join(MODULES)} |\n|---|{'---:|' * len(MODULES)}\n")
    for name in names or SWITCHES:
        found = red(name)
        write(f"| {name} | {' | '.join(str(found[module]) for module in MODULES)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
