"""Hostile templates at a served gateway: they end at a limit, and do not stop it for others."""

from typing import Any

import pytest

from tests.support.house import House

PREVIEW = """query ($input: TemplateToPreview!) {
  previewTemplate(input: $input) { html report { findings { code } } }
}"""


async def preview(house: House, **parts: str) -> dict[str, Any]:
    variables = {"channelType": "EMAIL", **parts}
    return await house.graphql(PREVIEW, house.one.headers["administrator"], input=variables)


@pytest.mark.parametrize("part", ["<body ", '<body "', "{{", "<a href=x>b"])
async def test_a_preheader_of_repeated_tags_is_previewed(served: House, part: str) -> None:
    body = await preview(served, html="<p>text</p>", preheader=part * (2_000 // len(part)))
    assert "errors" not in body, body
    assert "preheader-long" in str(body) or "does-not-parse" in str(body)


@pytest.mark.long("waits for a limit of time; `test_template_renderer.py` tests the same limit")
async def test_a_template_that_never_ends_is_stopped(served: House) -> None:
    html = f"<style>{'b,' * 30_000}i{{color:red}}</style>{'<b></b>' * 15_000}"
    body = await preview(served, html=html)
    (error,) = body["errors"]
    assert error["extensions"]["code"] == "BAD_INPUT"
    assert error["message"].startswith("The template was stopped at a limit: the template takes more than 3 s")
    assert "use fewer elements" in error["extensions"]["problems"][0]["message"]
    assert "errors" not in await preview(served, html="<p>text</p>" * 1_000)
