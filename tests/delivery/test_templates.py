"""Templates as they are rendered: the language and its limits, and values that stay values wherever they stand."""

import re
from email.message import EmailMessage
from email.policy import SMTP
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.delivery.templates.diagnostics import DoesNotParse, TemplateFault, TooMuch, ValueRefused, VariablesMissing
from wattgate.delivery.templates.engine import MAX_SOURCE
from wattgate.delivery.templates.output_writer import Limits
from wattgate.delivery.templates.rendering import Source, draft, render

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

PLACES = (
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
    """What a document is made of: its tags, the names of their attributes, and where its links lead."""

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


def whole(document: str) -> str:
    return document.replace("<!--[if mso]>", "").replace("<![endif]-->", "")


@given(place=st.sampled_from(PLACES), value=VALUES)
def test_a_value_never_becomes_markup_wherever_it_stands(place: str, value: str) -> None:
    made = draft(Source(place, "s"), {"v": value, "list": [value, value]}).html
    plain = draft(Source(place, "s"), {"v": "https://a", "list": ["https://a", "https://a"]}).html
    assert made is not None
    assert plain is not None
    assert Outline(whole(made)).tags == Outline(whole(plain)).tags
    if "<!--" in place:
        assert made.count("-->") == plain.count("-->")


@given(place=st.sampled_from(PLACES), value=VALUES)
def test_a_link_leads_to_no_program(place: str, value: str) -> None:
    made = draft(Source(place, "s"), {"v": value, "list": [value]}).html
    for link in Outline(whole(made or "")).links:
        seen = re.sub(r"[\x00-\x20]", "", link).lower()
        assert not seen.startswith(("javascript:", "data:", "vbscript:"))
        assert re.match(r"https?:|mailto:|tel:|sms:|cid:|[/?#]|$", seen), link


@given(before=st.text(alphabet="=?utf-8Q ab", max_size=12), value=VALUES)
def test_a_value_in_a_subject_never_makes_a_header(before: str, value: str) -> None:
    try:
        rendered = render(Source("<p>x</p>", before + "x {{ v }}"), {"v": value})
    except TemplateFault:
        return
    message = EmailMessage(policy=SMTP)
    message["Subject"] = rendered.subject
    headers = message.as_bytes().split(b"\r\n\r\n")[0]
    assert re.findall(rb"^[\w-]+:", headers, re.MULTILINE) == [b"Subject:"]
    assert b"Bcc:" not in re.findall(rb"^[\w-]+:", message.as_string().encode("utf-8", "replace"), re.MULTILINE)


@given(source=st.text(alphabet="{}%|<>\"'= \nabif", max_size=60), value=VALUES)
def test_whatever_is_written_is_rendered_or_refused_with_a_place(source: str, value: str) -> None:
    made = draft(Source(source, source, source, source), {"a": value, "b": [value]})
    for finding in made.findings:
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
        ("{{ a | safe }}", 1, 8, "there is no filter safe"),
        ("{{ a | upcas }}", 1, 8, "did you mean upcase?"),
        ("{% raw %}{{ a }}", 1, 1, "raw is not followed by endraw"),
        ("{% if a %}" * 40, None, None, "nest"),
        ("{{ a }}" * 5_001, 1, 35_001, "more than 5,000 markers"),
        ("\ud800", None, None, "no character"),
        ("x\0", None, None, "no character"),
    ],
)
def test_a_template_that_does_not_parse_is_refused_with_its_place(
    source: str, line: int | None, column: int | None, words: str
) -> None:
    with pytest.raises(DoesNotParse) as refused:
        render(Source(source, "s"), {})
    (finding,) = refused.value.findings
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
        "x" * (MAX_SOURCE + 1),
    ],
)
def test_a_template_that_takes_too_much_is_stopped(source: str) -> None:
    with pytest.raises(TooMuch):
        render(Source(source, "s"), {})


def test_a_template_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(TooMuch, match="longer than 0 s"):
        render(Source("{% for i in (1..1000) %}{% endfor %}", "s"), {}, Limits(seconds=0))


def test_numbers_that_would_fill_the_memory_are_no_numbers() -> None:
    with pytest.raises(ValueRefused, match="takes numbers"):
        render(Source("{{ n | ceil }}", "s"), {"n": "1e999999999"})


def test_what_the_data_lacks_is_told_with_its_place_and_the_nearest_name() -> None:
    source = Source("<p>{{ user.name }}\n{{ user.nmae }} {{ other }}</p>{% for one in lsit %}{% endfor %}", "s")
    with pytest.raises(VariablesMissing) as refused:
        render(source, {"user": {"name": "Ada"}, "list": []})
    told = [(one.line, one.column, one.hint) for one in refused.value.findings]
    assert told == [(2, 4, "did you mean user.name?"), (2, 20, None), (2, 46, "did you mean list?")]


def test_a_variable_may_be_missing_where_the_template_says_so() -> None:
    source = Source("{{ name | default: 'you' }}{% if tip %}{{ tip }}{% endif %}{% unless tip %}!{% endunless %}", "s")
    assert render(source, {}).text == "you!"


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\x00b", "a\u2028b", "=?utf-8?q?hi=0ABcc=3A_x?=", "=?x?="])
def test_a_value_that_ends_or_encodes_a_header_is_refused(value: str) -> None:
    with pytest.raises(ValueRefused):
        render(Source("x", "Hello {{ name }}"), {"name": value})


def test_an_encoded_word_that_comes_together_from_pieces_is_refused() -> None:
    with pytest.raises(ValueRefused):
        render(Source("x", "={{ a }}{{ b }}"), {"a": "?utf-8?q?x?", "b": "="})


def test_a_subject_may_be_written_over_several_lines() -> None:
    source = Source("x", "{% if high %}\n  High use:\n{% endif %}\n{{ kwh }} kWh\n")
    assert render(source, {"high": True, "kwh": 4.5}).subject == "High use: 4.5 kWh"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("https://example.com/a?b=1&c=2", "https://example.com/a?b=1&amp;c=2"),
        ("mailto:a@example.com", "mailto:a@example.com"),
        ("https://example.com/\"x' y", "https://example.com/%22x%27%20y"),
        ("", ""),
    ],
)
def test_an_address_is_kept_as_it_is_but_for_what_would_end_it(value: str, written: str) -> None:
    assert f'href="{written}"' in render(Source('<a href="{{ v }}">x</a>', "s"), {"v": value}).html


def test_a_value_within_an_address_is_a_part_of_it_and_no_more() -> None:
    made = render(Source('<a href="https://a.example/{{ v }}?x={{ v }}#{{ v }}">x</a>', "s"), {"v": "a/b?c=d&e#f"})
    assert 'href="https://a.example/a/b%3Fc%3Dd%26e%23f?x=a%2Fb%3Fc%3Dd%26e%23f#a%2Fb%3Fc%3Dd%26e%23f"' in made.html


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<script>{{ v }}</script>", "<script>"),
        ('<a onclick="{{ v }}">', "onclick"),
        ("<a title={{ v }}>", "quotes"),
        ("<a {{ v }}>", "must not be an attribute"),
        ("<{{ v }}>", "right after <"),
        ('<a href="{{ v }}">', "must begin with https"),
        ('<a href="java{{ v }}">', "must begin with https"),
        ('<p style="color: {{ css }}">', "letters, digits"),
        ('<meta content="{{ v }}">', "<meta>"),
        ('<img srcset="{{ v }}">', "srcset"),
        ("{{ object }}", "has members"),
    ],
)
def test_a_value_that_must_not_stand_somewhere_is_refused_with_the_reason(source: str, words: str) -> None:
    data: dict[str, Any] = {"v": "script:x", "css": "red; background: url(x)", "object": {"a": 1}}
    with pytest.raises(ValueRefused, match=words):
        render(Source(source, "s"), data)


def test_styles_are_inlined_and_those_for_some_screens_stay() -> None:
    html = "<style>p { color: red } @media (max-width: 400px) { p { color: blue } }</style><p>x</p>"
    made = render(Source(html, "s"), {}).html
    assert '<p style="color: red;">x</p>' in made
    assert "@media" in made


def test_no_style_sheet_is_loaded() -> None:
    html = '<link rel="stylesheet" href="http://127.0.0.1:1/x.css"><link rel="stylesheet" href="/etc/passwd"><p>x</p>'
    assert "x" in render(Source(html, "s"), {}).html


def test_the_preheader_comes_first_and_is_not_seen() -> None:
    made = render(Source('<body class="a>b"><p>x</p></body>', "s", "Hi {{ n }}"), {"n": "<Ada>"})
    assert re.search(r'<body class="a>b"><div style="display:none[^>]*>Hi &lt;Ada&gt;</div><p>x</p>', made.html)
    assert made.text == "x"


def test_the_text_is_made_from_the_html_where_there_is_none() -> None:
    html = """<head><title>t</title><style>p {}</style></head><h1>Hi</h1><p>You used
      <b>4 kWh</b>. <a href="https://a.example/x">More</a></p><ul><li>one</li><li>two</li></ul>
      <!--[if mso]><p>Outlook</p><![endif]--><table><tr><td>a</td><td>b</td></tr></table><img alt="Chart" src="x">
      <p style="display: none">unseen</p><a href="mailto:a@b.example">a@b.example</a> &amp; more"""
    assert render(Source(html, "s"), {}).text == (
        "Hi\n\nYou used 4 kWh. More (https://a.example/x)\n\n- one\n- two\n\na b\n\nChart a@b.example & more"
    )
    assert render(Source("<p>x</p>", "s", text="own {{ v }}"), {"v": "<b>"}).text == "own <b>"


@pytest.mark.parametrize("nested", ["<div>", "<b>", "<table><tr><td></b>", "<div></p><p>", "<ul><li>"])
def test_a_document_that_is_nested_too_deeply_is_refused(nested: str) -> None:
    with pytest.raises(ValueRefused, match="within each other"):
        render(Source(nested * 10_000, "s"), {})
