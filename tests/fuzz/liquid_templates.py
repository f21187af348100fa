"""Liquid templates: only documented errors and bounded output, and the ways to parse and render them agree.

The texts of the data contain an element. An independent parser of HTML must not find it in the output.
"""

from html.parser import HTMLParser

from tests.fuzz.harness import Harness
from wattgate.delivery.rule_mail_texts import LANGUAGES, rule_mail
from wattgate.delivery.templates.language.diagnostics import (
    MissingVariables,
    TemplateError,
    TemplateLimitExceeded,
    TemplatePart,
    TemplateSyntaxError,
    UnsafeTemplateValues,
)
from wattgate.delivery.templates.language.engine import parse_template
from wattgate.delivery.templates.language.output_writer import RenderLimits
from wattgate.delivery.templates.rendering import RenderedTemplate, TemplateSource, render, render_partially
from wattgate.delivery.templates.scope import RenderScope
from wattgate.delivery.templates.tasks import check_sources
from wattgate.enums import RuleKind

LIMITS = RenderLimits(max_seconds=60, max_iterations=500, max_characters=20_000)
"""Limits that inputs reach. The limit of time is not one of them: results must not depend on the machine."""

PLANTED = "planted"
VALUE = f"<{PLANTED} on{PLANTED}=1>\"' on{PLANTED}=1 --><{PLANTED}>&lt;{PLANTED}&gt;"
DATA = {
    "v": VALUE,
    "name": "Ada",
    "n": -1.5,
    "big": 10**20,
    "yes": True,
    "nothing": None,
    "list": [VALUE, "b", 3],
    "user": {"name": VALUE, "items": [{"id": 1, "at": "2026-06-01T12:00:00Z"}, {"id": 2}]},
}
SCOPE = RenderScope()


class ElementFinder(HTMLParser):
    """Notes whether a document has the planted element or attribute."""

    is_found = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.is_found |= tag == PLANTED or any(name == f"on{PLANTED}" for name, _ in attributes)


def check(data: bytes) -> bool:
    html = data.decode("utf-8", "replace")
    check_source(TemplateSource("<p>x</p>", html, html, html))
    return check_source(TemplateSource(html))


def check_source(source: TemplateSource) -> bool:
    """Check a template, and return whether it can be rendered."""
    partial = render_partially(source, DATA, LIMITS, SCOPE)
    findings = check_sources(source, DATA, LIMITS, SCOPE)
    parsed = [error for part, text in source.parts() if (error := parse_error(text, part)) is not None]
    assert findings == [finding for error in parsed for finding in error.findings]
    for text in (partial.html, partial.text, partial.subject, partial.preheader):
        assert text is None or len(text) <= 2 * LIMITS.max_characters  # a text has the addresses of links twice
    if partial.html is not None and PLANTED not in source.html:
        finder = ElementFinder()
        finder.feed(partial.html)
        assert not finder.is_found, partial.html
    whole = rendered(source)
    if isinstance(whole, TemplateError):
        assert partial.errors
        assert set(whole.findings) <= set(partial.findings)
        assert all(finding.message for finding in whole.findings)
        return False
    assert not partial.errors
    assert whole == partial.complete
    return True


def rendered(source: TemplateSource) -> RenderedTemplate | TemplateError:
    """Return the message of a template, or the error that prevents it."""
    try:
        return render(source, DATA, LIMITS, SCOPE)
    except (TemplateSyntaxError, TemplateLimitExceeded, MissingVariables, UnsafeTemplateValues) as error:
        return error


def parse_error(text: str, part: TemplatePart) -> TemplateError | None:
    try:
        parse_template(text, part)
    except (TemplateSyntaxError, TemplateLimitExceeded) as error:
        return error
    return None


HARNESS = Harness(
    "templates",
    check,
    (
        *(rule_mail(RuleKind.PACE, language).html.encode()[:2_000] for language in LANGUAGES),
        b"<p>Hello {{ name | default: 'you' }}, {{ user.name | upcase }}: {{ n | round: 1 }}</p>",
        b"<a href=\"https://example.com/?a={{ v }}&amp;b={{ v }}\" title='{{ v }}'>{{ v }}</a><!-- {{ v }} -->",
        b'{% for one in list %}<b id="{{ one }}">{{ forloop.index }} {{ one }}</b>{% else %}-{% endfor %}',
        b"{% if v contains 'x' and n > 1 %}{{ v }}{% elsif yes %}<p title=\"{% else %}x{% endif %}{{ v }}\">x</p>",
        b"{% assign x = list | join: ', ' | append: name %}{{ x | slice: 1, 3 }}{% raw %}{{ a }}{% endraw %}",
        b"{% case n %}{% when -1.5 %}{{ user.items[0].id }}{% endcase %}{{ (1..5) | join }}{{ missing.path }}",
        b"<style>p { color: {{ name }} }</style><textarea>{{ v }}</textarea><script>{{ v }}</script>",
        b"{% for i in (1..99) %}{% cycle 'a', 'b' %}{{ i | times: big }}{% endfor %}{{ list | map: 'id' | sort }}",
    ),
    (
        *(b"{{", b"}}", b"{%", b"%}", b"{{-", b"-%}", b"|", b":", b".", b"[", b"]", b"'", b'"', b"(1..3)", b"\xff"),
        *(b"{{ v }}", b"{{ list }}", b"{{ user }}", b"{% endif %}", b"{% endfor %}", b"{% break %}", b"{% liquid"),
        *(b" | split: ''", b" | replace: 'a', v", b" | date: '%Y'", b" | where: 'id', 1", b" | kwh", b" | at", b"\0"),
        *(b"<a href=", b"<script>", b"<!--", b"-->", b"<![CDATA[", b"<svg>", b"<title>", b"<img src='{{ v }}'", b"&#"),
    ),
    {
        "values": lambda count: b"{{ v }}" * count,
        "loops": lambda count: b"{% for one in list %}{{ one }}{% endfor %}" * count,
        "filters": lambda count: b"{{ name" + b" | upcase" * count + b" }}",
        "open tags": lambda count: b"{% if v %}" * count,
        "missing": lambda count: b"".join(b"{{ name%d }}" % number for number in range(count)),
        "markup": lambda count: b"<a href='x'>" * count,
    },
)
