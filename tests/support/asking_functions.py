"""The functions that ask whose a meter point or a device is, found in the code.

A test switches the question off in each: it then answers as if the caller had always lived there.
"""

import ast
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlmodel import col

from wattgate.db.models import Resource
from wattgate.energy.consent_gaps import StorageBounds
from wattgate.energy.meters.meter_points import meter_point_spellings
from wattgate.energy.ownership import ALWAYS

PACKAGE = Path(__file__).parents[2] / "wattgate"


class AskingFunction(NamedTuple):
    """A function of a module that asks a question."""

    module: str
    function: str
    question: str

    @property
    def place(self) -> str:
        """The module within the package, and the function."""
        return f"{self.module.partition('.')[2]}:{self.function}"

    def __str__(self) -> str:
        return f"{self.place} asks {self.question}"


async def _all_bounds(_rows: Any, resources: Any) -> Any:
    return {resource.resource_id: StorageBounds(0, ()) for resource in resources}


async def _all_ownerships(_rows: Any, resources: Any) -> Any:
    return {resource.resource_id: ALWAYS for resource in resources}


async def _lives_there(_rows: Any, _user_id: str, _number: str) -> bool:
    return True


async def _nobody_lived_there(_rows: Any, _user_id: str, _number: str, _since: Any) -> bool:
    return False


async def _left_nothing(_rows: Any, _devices: Any) -> set[str]:
    return set()


async def _left_no_meter_point(_rows: Any, _user_id: str, _numbers: Any) -> set[str]:
    return set()


async def _had_no_other_owner(_call: Any, _owner_id: str, _hardware_id: str) -> None:
    return None


async def _closed_resources_too(call: Any, number: str) -> Any:
    return await call.rows.all(Resource, col(Resource.mpxn).in_(meter_point_spellings(number)), order_by=["number"])


async def _no_error(_rows: Any, _number: str, _resources: Any) -> None:
    return None


ANSWERS: Mapping[str, Callable[..., Any]] = {
    "storage_bounds": _all_bounds,
    "load_ownerships": _all_ownerships,
    "lives_at": _lives_there,
    "left_behind": _left_nothing,
    "meter_points_left": _left_no_meter_point,
    "others_lived_since": _nobody_lived_there,
    "held_from": _had_no_other_owner,
    "resources_at": _closed_resources_too,
    "find_own_meter_point_error": _no_error,
}
"""The functions that answer whose a meter point or a device is, and their answers when they are switched off."""


@cache
def find_asking_functions() -> frozenset[AskingFunction]:
    """Return each function of the package that asks one of the questions."""
    return frozenset(asking for path in PACKAGE.rglob("*.py") for asking in _asking_functions_in(path))


def _asking_functions_in(path: Path) -> Iterator[AskingFunction]:
    module, source = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts), path.read_text()
    if not any(question in source for question in ANSWERS):
        return  # nothing to parse
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and (question := _name_of(node.func)) in ANSWERS:
                    yield AskingFunction(module, function.name, question)


def _name_of(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


@contextmanager
def switched_off(asking: AskingFunction) -> Iterator[list[bool]]:
    """Switch the question of a function off. Yield a list that gets an item each time that the function asks."""
    asked: list[bool] = []
    module = _asked_module(asking)
    question = getattr(module, asking.question)

    def answer(*arguments: Any) -> Any:
        if sys._getframe(1).f_code.co_name != asking.function:
            return question(*arguments)
        asked.append(True)
        return ANSWERS[asking.question](*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, asking.question, answer)
        yield asked


@contextmanager
def watched(functions: Iterable[AskingFunction]) -> Iterator[set[AskingFunction]]:
    """Yield a set that gets each of these functions when it asks its question, which is answered."""
    expected, asked = set(functions), set[AskingFunction]()

    def watch(name: str, question: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*arguments: Any, **named: Any) -> Any:
            caller = sys._getframe(1)
            asked.update(expected & {AskingFunction(caller.f_globals["__name__"], caller.f_code.co_name, name)})
            return question(*arguments, **named)

        return answer

    with pytest.MonkeyPatch.context() as patch:
        for module, name in {(_asked_module(asking), asking.question) for asking in expected}:
            patch.setattr(module, name, watch(name, getattr(module, name)))
        yield asked


def _asked_module(asking: AskingFunction) -> Any:
    """Return the module in which a function looks its question up."""
    module = importlib.import_module(asking.module)
    if hasattr(module, asking.question):
        return module
    return importlib.import_module(_module_of(module, asking.question))  # the caller names the module of the question


def _module_of(module: Any, question: str) -> str:
    (found,) = {
        value.__name__ for value in vars(module).values() if hasattr(value, question) and hasattr(value, "__file__")
    }
    return str(found)
