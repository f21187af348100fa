"""Large templates are rendered in processes with limits, small ones in a thread."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.waiting import until
from wattgate.delivery.templates.language.contract import BASE_VARIABLES, Contract, VariableDeclaration, VariableType
from wattgate.delivery.templates.language.diagnostics import (
    MissingVariables,
    TemplateLimitExceeded,
    TemplateSyntaxError,
)
from wattgate.delivery.templates.renderer import (
    MAX_INLINE_CHARACTERS,
    TemplateRenderer,
    WorkerLimits,
    is_small,
)
from wattgate.delivery.templates.rendering import TemplateSource, render
from wattgate.delivery.templates.report import render_preview
from wattgate.delivery.templates.scope import RenderScope
from wattgate.errors import Unavailable

SMALL = TemplateSource("<p>Dear {{ name }}</p>", "To {{ name }}")
LARGE = TemplateSource(
    f"<p>Dear {{{{ name }}}}</p>{'<p>text</p>' * 1_000}", "To {{ name }}", "A note", "Dear {{ name }}"
)
HANGING = TemplateSource(f"<style>{'b,' * 30_000}i{{color:red}}</style>{'<b></b>' * 15_000}")
"""Half a billion comparisons in the native code that inlines styles, which nothing can interrupt."""

DATA = {"name": "Ada \ud800 é", "size": 10**30, "list": [float("inf"), None, True]}


PATIENT = WorkerLimits(max_workers=1, cpu_seconds=60, max_seconds=100, start_seconds=100)
"""Limits that no template of the tests reaches on a busy machine, except `HANGING`."""


@pytest.fixture
async def renderer() -> AsyncIterator[TemplateRenderer]:
    renderer = TemplateRenderer(PATIENT)
    yield renderer
    await renderer.close()


@pytest.mark.parametrize("source", [SMALL, LARGE], ids=["small", "large"])
async def test_results_are_those_of_the_functions(renderer: TemplateRenderer, source: TemplateSource) -> None:
    assert await renderer.render(source, DATA) == render(source, DATA)
    assert await renderer.preview(source, DATA) == render_preview(source, DATA)
    assert await renderer.preview(source) == render_preview(source)
    assert await renderer.check(source) == []
    with pytest.raises(MissingVariables, match="name is not in the data"):
        await renderer.render(source, {})


async def test_contract_and_culture_reach_the_process(renderer: TemplateRenderer) -> None:
    use = VariableDeclaration("use", VariableType.ENERGY, unit="Wh")
    scope = RenderScope(Contract(BASE_VARIABLES, (use,), declared=True), "fr-FR", "Europe/Paris")
    source = TemplateSource(
        LARGE.html.replace("{{ name }}", "{{ use | kwh }}"), "{{ use }}", "A note", "{{ alert.at | at }}"
    )
    assert not is_small(source, {})
    preview = await renderer.preview(source, None, scope)
    assert preview == render_preview(source, scope=scope)
    assert (preview.rendering.subject, preview.rendering.text) == ("4,20", "5 janvier 2026, 19:30")
    rendered = await renderer.render(source, {**preview.data, "use": 1234.5}, scope)
    assert "1,23\u202fkWh" in rendered.html
    misspelt = TemplateSource(source.html + "{{ uze }}")
    assert [finding.hint for finding in await renderer.check(misspelt, scope)] == ["did you mean use?"]


async def test_syntax_errors_of_large_templates_have_positions(renderer: TemplateRenderer) -> None:
    broken = TemplateSource(LARGE.html + "{% if %}")
    with pytest.raises(TemplateSyntaxError, match="html, line 1"):
        await renderer.render(broken, DATA)
    assert [finding.code for finding in await renderer.check(broken)] == ["does-not-parse"]


@pytest.mark.long("uses up the processor time of a rendering")
async def test_a_hanging_rendering_is_killed_and_the_next_one_succeeds() -> None:
    renderer = TemplateRenderer(replace(PATIENT, cpu_seconds=1))
    for _ in range(2):
        with pytest.raises(TemplateLimitExceeded, match="takes more than 1 s of processor time") as stopped:
            await renderer.render(HANGING, {})
        assert stopped.value.findings[0].hint == "use fewer elements, styles and repetitions, or less data"
        assert (await renderer.render(LARGE, DATA)).text == "Dear Ada \ufffd é"
    await renderer.close()


async def test_a_small_template_with_a_large_output_moves_to_a_process(renderer: TemplateRenderer) -> None:
    source = TemplateSource("{% for number in (1..4000) %}<p>{{ number }}</p>{% endfor %}")
    assert is_small(source, {})
    assert (await renderer.render(source, {})).text.endswith("4000")
    assert (await renderer.preview(source)).report.html_bytes > 9_000


async def test_a_killed_process_is_replaced(renderer: TemplateRenderer) -> None:
    await renderer.render(LARGE, DATA)
    (process,) = renderer.process_ids
    os.kill(process, 9)
    await until(lambda: renderer.process_ids == [])
    assert (await renderer.render(LARGE, DATA)).subject == "To Ada \ufffd é"


async def test_memory_is_limited() -> None:
    renderer = TemplateRenderer(replace(PATIENT, max_memory_bytes=16 << 20))
    with pytest.raises(TemplateLimitExceeded, match="too much memory"):
        await renderer.render(LARGE, DATA)
    await renderer.close()


async def test_a_process_that_does_not_start_in_time_is_killed() -> None:
    renderer = TemplateRenderer(WorkerLimits(start_seconds=0))
    with pytest.raises(Unavailable, match="No process to render the template was free in time"):
        await renderer.render(LARGE, DATA)
    assert renderer.process_ids == []


async def test_processes_start_when_needed_and_stay_within_their_number() -> None:
    renderer = TemplateRenderer(replace(PATIENT, max_workers=2, idle_seconds=3600))
    await renderer.render(SMALL, DATA)
    assert renderer.process_ids == []
    await asyncio.gather(*(renderer.render(LARGE, DATA) for _ in range(6)))
    assert 1 <= len(renderer.process_ids) <= 2
    await renderer.close()
    assert renderer.process_ids == []


async def test_processes_end_when_idle() -> None:
    renderer = TemplateRenderer(replace(PATIENT, idle_seconds=0.05))
    await renderer.render(LARGE, DATA)
    await until(lambda: renderer.process_ids == [])
    await renderer.close()


async def test_waiting_templates_are_bounded() -> None:
    renderer = TemplateRenderer(replace(PATIENT, max_waiting=1))
    results = await asyncio.gather(*(renderer.render(LARGE, DATA) for _ in range(3)), return_exceptions=True)
    assert [type(result).__name__ for result in results].count("Unavailable") >= 1
    assert [type(result).__name__ for result in results].count("RenderedTemplate") >= 1
    await renderer.close()


async def test_templates_of_one_application_leave_a_process_and_a_thread_to_others() -> None:
    renderer = TemplateRenderer(replace(PATIENT, max_workers=2))
    for share, source in ((renderer._slots, LARGE), (renderer._threads, SMALL)):
        taken = 0
        while share.try_take("busy"):
            taken += 1
        waiting = asyncio.create_task(renderer.render(source, DATA, owner="busy"))
        assert await renderer.render(source, DATA, owner="other") == render(source, DATA)
        assert not waiting.done()
        for _ in range(taken):
            share.give_back("busy")
        assert await waiting == render(source, DATA)
    await renderer.close()


async def test_a_cancelled_rendering_leaves_no_process(renderer: TemplateRenderer) -> None:
    await renderer.render(LARGE, DATA)
    task = asyncio.create_task(renderer.render(HANGING, {}))
    await until(lambda: not renderer._idle)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert renderer.process_ids == []


@pytest.mark.parametrize("data", [{"a": "x" * MAX_INLINE_CHARACTERS}, {"a": [[0] * 5_000] * 2}, ["x"] * 9_000])
def test_large_data_is_not_small(data: object) -> None:
    assert is_small(SMALL, {"a": [{"b": "c"}]})
    assert not is_small(SMALL, data)
