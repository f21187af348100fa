"""Mutation test of the tests of plans: switch off each check of a plan once and count the tests that fail.

    python -m tests.graphql.compiled.switched_off [name ...]

runs tests/graphql/compiled once for each check, in a process of its own.
docs/explanation/executor.md has the resulting table.
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

from wattgate.graphql.execution.compiled import arguments, codegen, engine, values
from wattgate.operations.core.context import GraphQLContext

SWITCH_VARIABLE = "WATTGATE_TEST_SWITCHED_OFF"


def _set_coercion_condition(name: str, condition: str) -> Callable[[], None]:
    return lambda: codegen.NEEDS_COERCION.update({name: condition})


def _edit_source(pattern: str, replacement: str) -> Callable[[], None]:
    """Return a switch that edits the source of every plan."""

    def compile_edited(text: str, *more: Any) -> Any:
        return builtins.compile(re.sub(pattern, replacement, text), *more)

    return lambda: setattr(codegen, "compile", compile_edited)


def _replace(where: Any, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(where, name, value)


async def _unchecked_members(levels: Any, name: Any, c: Any, v: Any, rows: Any) -> list[Any]:
    names = [name(row) for row in rows]
    groups = {
        type_name: [row for row_name, row in zip(names, rows, strict=True) if row_name == type_name]
        for type_name in names
    }
    results = await values.gather_or_cancel(*[levels[type_name](c, v, group) for type_name, group in groups.items()])
    remaining = {type_name: iter(results) for type_name, results in zip(groups, results, strict=True)}
    return [next(remaining[type_name]) for type_name in names]


def _check_null_only(self: Any, value: Any) -> None:
    if values.is_null_or_error(value):
        raise values.FallbackRequired("no object")


def _check_type_only(self: Any, value: Any) -> None:
    if self._kind.is_type_of is not None and self._kind.is_type_of(value, self._resolve_info) is not True:
        raise values.FallbackRequired("another object")


def _unchecked_coercion(coerce: Any) -> Any:
    def coerced(value: Any) -> Any:
        if values.is_null_or_error(value):
            raise values.FallbackRequired("no leaf")
        return coerce(value)

    return coerced


def _always_remember_class(self: Any, schema: Any, kind: Any) -> None:
    _KNOWN_CLASSES_INIT(self, schema, kind)
    self._remembers_classes = True


def _ignore_condition_variables(self: Any, document: Any, variables: Any) -> Any:
    document.condition_variables = ()
    return _GET_OR_COMPILE(self, document, variables)


async def _run_again(self: Any, _key: str, operation: Any, arguments: Any, *_others: Any) -> Any:
    return await self.runner.run(operation, self.principal, arguments)


async def _resume_from_start(
    self: Any, plan: Any, call: Any, document: Any, raw_variables: Any, _done: Any, variables: Any
) -> Any:
    return await _RESUME(self, plan, call, document, raw_variables, {}, variables)


async def _run_concurrently(self: Any, plan: Any, call: Any, _document: Any, variables: Any, completed: Any) -> Any:
    query: Any = SimpleNamespace(kind=OperationType.QUERY)
    return await _RUN_PLAN(self, plan, call, query, variables, completed)


async def _cancel_on_error(self: Any, plan: Any, call: Any, document: Any, variables: Any, completed: Any) -> Any:
    async def complete(key: str, root: Any) -> None:
        completed[key] = engine.ExecutionOutcome({key: await root(call, variables)})

    if document.kind is OperationType.MUTATION:
        return await _RUN_PLAN(self, plan, call, document, variables, completed)
    await values.gather_or_cancel(*[complete(key, root) for key, root in plan.roots.items()])
    return engine._join_outcomes(completed[key] for key in plan.roots)


def _any_error(plan: Any, key: str, call: Any, error: Any) -> Any:
    call.operation_results[key] = error
    return _REJECTION_OUTCOME(plan, key, call, error)


_KNOWN_CLASSES_INIT, _GET_OR_COMPILE, _RESUME = (
    values.KnownClasses.__init__,
    engine.ExecutionEngine.get_or_compile,
    engine.ExecutionEngine._resume_with_graphql_core,
)
_RUN_PLAN, _REJECTION_OUTCOME = engine.ExecutionEngine._run_plan, engine._rejection_outcome
_IS_NULL_OR_ERROR = values.is_null_or_error

SWITCHES: dict[str, Callable[[], None]] = {
    "class of String": _set_coercion_condition("String", "{0} is None"),
    "class of ID": _set_coercion_condition("ID", "{0} is None"),
    "class of Boolean": _set_coercion_condition("Boolean", "{0} is None"),
    "class of Int": _set_coercion_condition("Int", "not -2147483648 <= {0} <= 2147483647"),
    "range of Int": _set_coercion_condition("Int", "{0}.__class__ is not int"),
    "class of Float": _set_coercion_condition("Float", "{0} - {0} != 0.0"),
    "Float is finite": _set_coercion_condition("Float", "{0}.__class__ is not float"),
    "class of an enum": _edit_source(r"if (\w+)\.__class__ is enum_\d+ else \w+\(\1\)", ""),
    "null, undefined, error, awaitable": _replace(values, "is_null_or_error", lambda value: value is None),
    "only undefined": _replace(
        values, "is_null_or_error", lambda value: value is not Undefined and _IS_NULL_OR_ERROR(value)
    ),
    "a leaf that serialises to null": _replace(codegen, "checked_coercion", _unchecked_coercion),
    "class of objects": _replace(values.KnownClasses, "check", lambda self, value: None),
    "class of objects, except null": _replace(values.KnownClasses, "check", _check_null_only),
    "class of objects, only null": _replace(values.KnownClasses, "check", _check_type_only),
    "is_type_of that inspects the value": _replace(values.KnownClasses, "__init__", _always_remember_class),
    "impossible member, inline": _edit_source(r"raise FallbackRequired\(\w+\)", "pass"),
    "impossible member, of a level": _replace(codegen, "resolve_abstract", _unchecked_members),
    "lists": _replace(codegen, "as_list", lambda value: value),
    "length of an edge's result": _replace(codegen, "check_lengths", lambda found, parents: found),
    "arguments that resolvers may modify": _replace(arguments, "IMMUTABLE_TYPES", (object,)),
    "optional variables": _replace(arguments, "NonNullTypeNode", object),
    "one function for each combination of conditions": _replace(
        engine.ExecutionEngine, "get_or_compile", _ignore_condition_variables
    ),
    "operations run once": _replace(GraphQLContext, "run_operation", _run_again),
    "completed parts are kept": _replace(engine.ExecutionEngine, "_resume_with_graphql_core", _resume_from_start),
    "mutations run one after the other": _replace(engine.ExecutionEngine, "_run_plan", _run_concurrently),
    "queries finish beside one that fails": _replace(engine.ExecutionEngine, "_run_plan", _cancel_on_error),
    "an error of an operation": _replace(engine, "_rejection_outcome", _any_error),
}
"""The switches, by the check that each disables."""


def pytest_configure() -> None:
    """Disable the check that the environment names, as a pytest plugin."""
    SWITCHES[os.environ[SWITCH_VARIABLE]]()


def count_failures(name: str) -> Counter[str]:
    """Return the number of failed tests of each module without a check."""
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
    process = subprocess.run(
        command, env={**os.environ, SWITCH_VARIABLE: name}, capture_output=True, text=True, check=False
    )
    if "passed" not in process.stdout and "failed" not in process.stdout:
        raise RuntimeError(process.stdout + process.stderr)
    return Counter(re.findall(r"^(?:FAILED|ERROR) tests/graphql/compiled/test_(\w+)\.py", process.stdout, re.MULTILINE))


MODULES = ("single_faults", "differential", "events", "gateway", "engine")


def main(names: list[str]) -> None:
    write = sys.stdout.write
    write(f"| switched off | {' | '.join(MODULES)} |\n|---|{'---:|' * len(MODULES)}\n")
    for name in names or SWITCHES:
        failures = count_failures(name)
        write(f"| {name} | {' | '.join(str(failures[module]) for module in MODULES)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
