"""Rendering of templates: the language, its limits, and escaping of values at all positions."""

import re
import time
from email.message import EmailMessage
from email.policy import SMTP
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.delivery.templates.language.diagnostics import (
    MissingVariables,
    TemplateError,
    TemplateLimitExceeded,
    TemplateSyntaxError,
    UnsafeTemplateValues,
)
from wattgate.delivery.templates.language.engine import MAX_SOURCE_LENGTH
from wattgate.delivery.templates.language.output_writer import RenderLimits
from wattgate.delivery.templates.rendering import TemplateSource, render, render_partially

ATTACKS = st.sampled_from(
    (
        "<script>alert(1)</script>", '"><img src=x onerror=y>', "' onmouseover='x", "javascript:alert(1)", "-->",
        " JaVaScRiPt:alert(1)", "java\tscript:x", "data:text/html,<b>", "</title><script>", "&colon;",
        "&#106;avascript:",
        "x\r\nBcc: all@example.com", "=?utf-8?q?=0ABcc=3A_x?=", "}}{{ 7 }}", "{% for %}", "</style><script>", "\x00<b>",
        "//evil.example", "\\\\evil.example", "expression(alert(1))", "url(javascript:x)", "\u2028", "\ud800",
        "]]>", "<![",
    )
)  # fmt: skip
VALUES = st.one_of(ATTACKS, st.text(), st.lists(st.one_of(ATTACKS, st.text(max_size=5)), max_size=4).map("".join))

POSITIONS = (
    "<p>{{ v }}</p>",
    '<p title="{{ v }}">x</p>',
    "<p title='{{ v }}'>x</p>",
    '<a href="{{ v }}">x</a>',
    '<a href="https://example.com/{{ v }}">x</a>',
    '<a href="https://example.com/?a={{ v }}&amp;b={{ v }}">x</a>',
    '<img alt="{{ v }}" src="{{ v }}">',
    '<p style="width: {{ v }}">x</p>',
    "<style>p { color: {{ v }} }</style><p>x</p>",
    "<title>{{ v }}</title><p>x</p>",
    "<!-- {{ v }} --><p>x</p>",
    '<!--[if mso]><a href="{{ v }}">{{ v }}</a><![endif]--><p>x</p>',
    "<textarea>{{ v }}</textarea>",
    '{% for one in list %}<b id="{{ one }}">{{ one }}</b>{% endfor %}',
    '{% if v %}<p title="{% else %}<p>{% endif %}{{ v }}">x</p>',
    "<script>{{ v }}</script>",
    '<a onclick="{{ v }}">x</a>',
    "<a {{ v }}>x</a>",
    "<a href={{ v }}>x</a>",
    "<{{ v }}>x",
    '<iframe srcdoc="{{ v }}"></iframe>',
)


class Outline(HTMLParser):
    """The structure of a document: its tags, the names of their attributes, and the targets of its links."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((tag, ("/",)))


def without_conditional_comments(document: str) -> str:
    return document.replace("<!--[if mso]>", "").replace("<![endif]-->", "")


@given(position=st.sampled_from(POSITIONS), value=VALUES)
def test_value_never_becomes_markup_at_any_position(position: str, value: str) -> None:
    rendered = render_partially(TemplateSource(position, "s"), {"v": value, "list": [value, value]}).html
    plain = render_partially(TemplateSource(position, "s"), {"v": "https://a", "list": ["https://a", "https://a"]}).html
    assert rendered is not None
    assert plain is not None
    assert Outline(without_conditional_comments(rendered)).tags == Outline(without_conditional_comments(plain)).tags
    if "<!--" in position:
        assert rendered.count("-->") == plain.count("-->")


@given(position=st.sampled_from(POSITIONS), value=VALUES)
def test_link_never_runs_code(position: str, value: str) -> None:
    rendered = render_partially(TemplateSource(position, "s"), {"v": value, "list": [value]}).html
    for link in Outline(without_conditional_comments(rendered or "")).links:
        normalized = re.sub(r"[\x00-\x20]", "", link).lower()
        assert not normalized.startswith(("javascript:", "data:", "vbscript:"))
        assert re.match(r"https?:|mailto:|tel:|sms:|cid:|[/?#]|$", normalized), link


@given(before=st.text(alphabet="=?utf-8Q ab", max_size=12), value=VALUES)
def test_value_in_a_subject_never_injects_a_header(before: str, value: str) -> None:
    try:
        rendered = render(TemplateSource("<p>x</p>", before + "x {{ v }}"), {"v": value})
    except TemplateError:
        return
    message = EmailMessage(policy=SMTP)
    message["Subject"] = rendered.subject
    headers = message.as_bytes().split(b"\r\n\r\n")[0]
    assert re.findall(rb"^[\w-]+:", headers, re.MULTILINE) == [b"Subject:"]
    assert b"Bcc:" not in re.findall(rb"^[\w-]+:", message.as_string().encode("utf-8", "replace"), re.MULTILINE)


@given(source=st.text(alphabet="{}%|<>\"'= \nabif", max_size=60), value=VALUES)
def test_any_source_is_rendered_or_rejected_with_a_position(source: str, value: str) -> None:
    rendering = render_partially(TemplateSource(source, source, source, source), {"a": value, "b": [value]})
    for finding in rendering.findings:
        assert (finding.line is None) == (finding.column is None)
        if finding.line is not None:
            assert finding.line <= source.count("\n") + 1


@pytest.mark.parametrize(
    ("source", "line", "column", "words"),
    [
        ("<p>\n  {{ name }</p>", 2, 3, "is not followed by }}"),
        ("{{ a | }}", 1, 1, "expected"),
        ("a\n{% if %}x{% endif %}", 2, 4, "missing expression"),
        ("{% if a %}x", None, None, "endif"),
        ("x{% include 'file' %}", 1, 5, "unexpected tag 'include'"),
        ("{% render 'file' %}", 1, 4, "unexpected tag 'render'"),
        ("{% capture x %}{% endcapture %}", 1, 4, "unexpected tag 'capture'"),
        ("{{ a | safe }}", 1, 8, "unknown filter safe"),
        ("{{ a | upcas }}", 1, 8, "did you mean upcase?"),
        ("{% raw %}{{ a }}", 1, 1, "raw is not followed by endraw"),
        ("{% if a %}" * 40, None, None, "nest"),
        ("{{ a }}" * 5_001, 1, 35_001, "more than 5,000 markers"),
        ("\ud800", None, None, "half of a surrogate pair"),
        ("x\0", None, None, "half of a surrogate pair"),
    ],
)
def test_syntax_error_is_reported_with_its_position(
    source: str, line: int | None, column: int | None, words: str
) -> None:
    with pytest.raises(TemplateSyntaxError) as error:
        render(TemplateSource(source, "s"), {})
    (finding,) = error.value.findings
    assert words in str(finding)
    if line is not None:
        assert (finding.line, finding.column) == (line, column)


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in (1..1000000000) %}x{% endfor %}",
        "{% for i in (1..1000000000) reversed %}x{% endfor %}",
        "{% for i in (1..1000) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}",
        "{% for i in (1..9000) %}" + "x" * 100 + "{% endfor %}",
        "{% assign x = 'aaaaaaaaaaaaaaaaaaaa' %}{% for i in (1..99) %}{% assign x = x | append: x %}{% endfor %}",
        "{% assign x = 9 %}{% for i in (1..99) %}{% assign x = x | times: x %}{% endfor %}{{ x }}",
        "{{ (1..1000000000) | join }}",
        "x" * (MAX_SOURCE_LENGTH + 1),
    ],
)
def test_template_that_exceeds_a_limit_is_rejected(source: str) -> None:
    with pytest.raises(TemplateLimitExceeded):
        render(TemplateSource(source, "s"), {})


def test_template_that_exceeds_the_time_limit_is_stopped() -> None:
    with pytest.raises(TemplateLimitExceeded, match="longer than 0 s of processor time"):
        render(TemplateSource("{% for i in (1..1000) %}{% endfor %}", "s"), {}, RenderLimits(max_seconds=0))


class Slow(dict[str, object]):
    """An object that lets the thread wait when a rendering reads it, as a busy machine does."""

    def __getitem__(self, name: str) -> object:
        time.sleep(0.5)
        return super().__getitem__(name)


def test_time_for_which_a_rendering_waits_for_the_processor_does_not_count() -> None:
    source = TemplateSource("{{ user.name }}{% for i in (1..5) %}{{ i }}{% endfor %}", "s")
    assert render(source, {"user": Slow(name="Ada")}, RenderLimits(max_seconds=0.4)).text == "Ada12345"


def test_huge_exponent_is_not_accepted_as_a_number() -> None:
    with pytest.raises(UnsafeTemplateValues, match="takes numbers"):
        render(TemplateSource("{{ n | ceil }}", "s"), {"n": "1e999999999"})


def test_missing_variable_is_reported_with_its_position_and_a_suggestion() -> None:
    source = TemplateSource("<p>{{ user.name }}\n{{ user.nmae }} {{ other }}</p>{% for one in lsit %}{% endfor %}", "s")
    with pytest.raises(MissingVariables) as error:
        render(source, {"user": {"name": "Ada"}, "list": []})
    findings = [(finding.line, finding.column, finding.hint) for finding in error.value.findings]
    assert findings == [(2, 4, "did you mean user.name?"), (2, 20, None), (2, 46, "did you mean list?")]


def test_optional_variables_may_be_missing() -> None:
    source = TemplateSource(
        "{{ name | default: 'you' }}{% if tip %}{{ tip }}{% endif %}{% unless tip %}!{% endunless %}", "s"
    )
    assert render(source, {}).text == "you!"


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\x00b", "a\u2028b", "=?utf-8?q?hi=0ABcc=3A_x?=", "=?x?="])
def test_value_that_ends_or_encodes_a_header_is_rejected(value: str) -> None:
    with pytest.raises(UnsafeTemplateValues):
        render(TemplateSource("x", "Hello {{ name }}"), {"name": value})


def test_encoded_word_from_several_values_is_rejected() -> None:
    with pytest.raises(UnsafeTemplateValues):
        render(TemplateSource("x", "={{ a }}{{ b }}"), {"a": "?utf-8?q?x?", "b": "="})


def test_subject_source_may_have_several_lines() -> None:
    source = TemplateSource("x", "{% if high %}\n  High use:\n{% endif %}\n{{ kwh }} kWh\n")
    assert render(source, {"high": True, "kwh": 4.5}).subject == "High use: 4.5 kWh"


@pytest.mark.parametrize(
    ("value", "escaped"),
    [
        ("https://example.com/a?b=1&c=2", "https://example.com/a?b=1&amp;c=2"),
        ("mailto:a@example.com", "mailto:a@example.com"),
        ("https://example.com/\"x' y", "https://example.com/%22x%27%20y"),
        ("", ""),
    ],
)
def test_url_value_is_escaped_only_where_it_would_end_the_attribute(value: str, escaped: str) -> None:
    assert f'href="{escaped}"' in render(TemplateSource('<a href="{{ v }}">x</a>', "s"), {"v": value}).html


def test_value_within_a_url_is_quoted() -> None:
    rendered = render(
        TemplateSource('<a href="https://a.example/{{ v }}?x={{ v }}#{{ v }}">x</a>', "s"), {"v": "a/b?c=d&e#f"}
    )
    assert 'href="https://a.example/a/b%3Fc%3Dd%26e%23f?x=a%2Fb%3Fc%3Dd%26e%23f#a%2Fb%3Fc%3Dd%26e%23f"' in rendered.html


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<script>{{ v }}</script>", "<script>"),
        ('<a onclick="{{ v }}">', "onclick"),
        ("<a title={{ v }}>", "quotes"),
        ("<a {{ v }}>", "must not be an attribute"),
        ("<{{ v }}>", "follow < directly"),
        ('<a href="{{ v }}">', "must begin with https"),
        ('<a href="java{{ v }}">', "must begin with https"),
        ('<p style="color: {{ css }}">', "letters, digits"),
        ('<meta content="{{ v }}">', "<meta>"),
        ('<img srcset="{{ v }}">', "srcset"),
        ("{{ object }}", "is an object"),
    ],
)
def test_value_at_a_forbidden_position_is_rejected_with_the_reason(source: str, words: str) -> None:
    data: dict[str, Any] = {"v": "script:x", "css": "red; background: url(x)", "object": {"a": 1}}
    with pytest.raises(UnsafeTemplateValues, match=words):
        render(TemplateSource(source, "s"), data)


def test_styles_are_inlined_and_media_queries_remain() -> None:
    html = "<style>p { color: red } @media (max-width: 400px) { p { color: blue } }</style><p>x</p>"
    rendered = render(TemplateSource(html, "s"), {}).html
    assert '<p style="color: red;">x</p>' in rendered
    assert "@media" in rendered


@pytest.mark.parametrize(
    "media", ["print", "only screen and (max-width:480px)", "(prefers-color-scheme: dark)", "PRINT", "print&#44;tv"]
)
def test_style_element_of_a_medium_becomes_a_media_rule(media: str) -> None:
    """Inlined, a style for prints hid the text of the mail on each screen."""
    html = f'<style media="{media}">p {{ display: none }}</style><style media="all">p {{ color: red }}</style><p>x</p>'
    rendered = render(TemplateSource(html, "s"), {}).html
    assert '<p style="color: red;">x</p>' in rendered
    query = media.replace("&#44;", ",")
    assert f"@media {query}{{p {{ display: none }}}}" in rendered


@pytest.mark.parametrize(
    ("style", "kept", "inlined"),
    [
        ("p, p:hover { color: red }", "p:hover{ color: red }", '<p class="a" style="color: red;">'),
        ("p::before { content: 'x' }", 'p::before{ content: "x" }', '<p class="a">'),
        ("p:after { content: 'x' }", 'p:after{ content: "x" }', '<p class="a">'),
        ("[data-ogsc] .a { color: red }", "[data-ogsc] .a{ color: red }", '<p class="a">'),
        (".ExternalClass p { margin: 0 }", ".ExternalClass p{ margin: 0 }", '<p class="a">'),
        ("#outlook a { padding: 0 }", "#outlook a{ padding: 0 }", '<p class="a">'),
        ("u + .body .a { color: red }", "u + .body .a{ color: red }", '<p class="a">'),
        (":root { color: red }", ":root{ color: red }", '<p class="a">'),
        ("p:first-child { color: red }", "", '<p class="a" style="color: red;">'),
        ("u { color: red }", "", '<p class="a">'),
    ],
)
def test_rules_that_cannot_be_inlined_stay_in_the_head(style: str, kept: str, inlined: str) -> None:
    rendered = render(TemplateSource(f"<style>{style}</style><p class='a'>x</p>", "s"), {}).html
    head, _, body = rendered.partition("</head>")
    assert (f"<style>{kept}</style>" in head) if kept else ("<style>" not in head)
    assert inlined in body


@pytest.mark.parametrize(
    ("style", "forbidden"),
    [
        ('<style media="print} p{color:red">p { margin: 0 }</style>', "style="),
        ('<style media="print;">p { margin: 0 }</style>', "style="),
        ('<style media="print">p { margin: 0 }} p { color: red }</style>', "color"),
        (f'<style media="print">{"(" * 60} p {{ margin: 0 }}</style>', "margin"),
        (r'<style>p::before { content: "\3c /style><b>" }</style>', "<b>"),
    ],
)
def test_a_broken_style_for_a_medium_applies_to_nothing_else(style: str, forbidden: str) -> None:
    rendered = render(TemplateSource(f"{style}<p>x</p>", "s"), {}).html
    assert forbidden not in re.sub(r"<style>.*?</style>", "", rendered)


def test_styles_in_comments_stay_for_the_mail_programs_that_read_them() -> None:
    comment = '<!--[if mso]><style media="print">p:hover { color: red }</style><![endif]-->'
    assert comment in render(TemplateSource(f"<head>{comment}</head><p>x</p>", "s"), {}).html


def test_external_style_sheets_are_not_loaded() -> None:
    html = '<link rel="stylesheet" href="http://127.0.0.1:1/x.css"><link rel="stylesheet" href="/etc/passwd"><p>x</p>'
    assert "x" in render(TemplateSource(html, "s"), {}).html


def test_preheader_is_first_and_hidden() -> None:
    rendered = render(TemplateSource('<body class="a>b"><p>x</p></body>', "s", "Hi {{ n }}"), {"n": "<Ada>"})
    assert re.search(r'<body class="a>b"><div style="display:none[^>]*>Hi &lt;Ada&gt;</div><p>x</p>', rendered.html)
    assert rendered.text == "x"


def test_missing_text_is_converted_from_the_html() -> None:
    html = """<head><title>t</title><style>p {}</style></head><h1>Hi</h1><p>You used
      <b>4 kWh</b>. <a href="https://a.example/x">More</a></p><ul><li>one</li><li>two</li></ul>
      <!--[if mso]><p>Outlook</p><![endif]--><table><tr><td>a</td><td>b</td></tr></table><img alt="Chart" src="x">
      <p style="display: none">unseen</p><a href="mailto:a@b.example">a@b.example</a> &amp; more"""
    assert render(TemplateSource(html, "s"), {}).text == (
        "Hi\n\nYou used 4 kWh. More (https://a.example/x)\n\n- one\n- two\n\na b\n\nChart a@b.example & more"
    )
    assert render(TemplateSource("<p>x</p>", "s", text="own {{ v }}"), {"v": "<b>"}).text == "own <b>"


@pytest.mark.parametrize("nested", ["<div>", "<b>", "<table><tr><td></b>", "<div></p><p>", "<ul><li>"])
def test_deeply_nested_document_is_rejected(nested: str) -> None:
    with pytest.raises(UnsafeTemplateValues, match="elements are nested"):
        render(TemplateSource(nested * 10_000, "s"), {})
