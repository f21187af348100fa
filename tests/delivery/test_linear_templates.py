"""Templates, plain texts and addresses take linear time for every text of a caller."""

from collections.abc import Callable
from functools import partial
from itertools import product

import pytest

from tests.support.scaling import check_linear
from tests.support.short_form import sample
from tests.support.timed import NOW
from wattgate.delivery.channels.mail import MAX_SUBJECT_CHARACTERS, MailMessage, encode_mail, parse_mail
from wattgate.delivery.mail_addresses import MAX_MAILBOX_LENGTH, Mailbox, NotMailable, parse_mailbox
from wattgate.delivery.templates.html.html_context import unescape
from wattgate.delivery.templates.html.plain_text import html_to_text
from wattgate.delivery.templates.language.diagnostics import TemplateError, TemplatePart
from wattgate.delivery.templates.language.engine import parse_template, render_source
from wattgate.delivery.templates.lint import lint_html
from wattgate.delivery.templates.rendering import TemplateSource, render_partially
from wattgate.delivery.templates.report import render_preview

SIZE = 400

MARKUP = {
    "body tags": "<body ",
    "body tags with quotes": '<body "',
    "tags": "<b>",
    "end tags": "</b>",
    "brackets": "<",
    "comments": "<!--",
    "declarations": "<!",
    "attributes": "<a b=c d='e' ",
    "links": "<a href=x>b",
    "images": "<img>",
    "lines": "<div></div> ",
    "breaks": "<br> ",
    "paragraphs": "<p> ",
    "spaces": "&nbsp; ",
    "styles": "<style>a{gap:1}</style>",
    "open styles": "<style>a{{",
    "styles of media": "<style>@media print{a{gap:1}}</style><a style='gap:2'>b</a>",
    "states": "<style>a:hover{gap:1}</style>",
    "style brackets": "<a style='b:[[[['>",
    "references": "&#99999999999",
    "markers": "{{",
    "tag markers": "{%",
    "values": "{{ a }}",
    "values in links": '<a href="https://example.org/{{ a }}">',
}
"""Repeated texts, by name."""


READERS: dict[str, Callable[[str], object]] = {
    "lint": lint_html,
    "text": html_to_text,
    "unescape": unescape,
    "parse": partial(parse_template.__wrapped__, part=TemplatePart.HTML),
}
"""Functions that read markup, by name."""


def test_reading_markup_is_linear(subtests: pytest.Subtests) -> None:
    for reader, name in sample(product(READERS, MARKUP), key=" ".join):
        with subtests.test(f"{reader}: {name}"):
            check_linear(partial(_without_findings, READERS[reader]), MARKUP[name].__mul__, SIZE)


def test_a_preheader_is_linear(subtests: pytest.Subtests) -> None:
    """A preheader of `<body ` stopped the gateway for 46 s: an expression looked for the body in it."""
    for name in sample(MARKUP):
        with subtests.test(name):
            check_linear(_render_with_preheader, MARKUP[name].__mul__, SIZE)


def _render_with_preheader(text: str) -> None:
    render_partially(TemplateSource(text, preheader=text), {"a": "b"})


def test_long_tags_are_linear(subtests: pytest.Subtests) -> None:
    for start, end in product(("<a ", "<", "<a b="), ("", '"', "=", "'", " ")):
        with subtests.test(start + end):
            check_linear(lint_html, partial(_long_tag, start, end), 10 * SIZE)


def _long_tag(start: str, end: str, count: int) -> str:
    return f"{start}{'b' * count}{end}" if start == "<" else f"{start}{end}{'b' * count}"


def test_missing_variables_are_linear() -> None:
    def source(count: int) -> str:
        return "".join(f"{{{{ name{number} }}}}" for number in range(count))

    check_linear(lambda text: render_source(text, TemplatePart.HTML, {}), source, SIZE)
    check_linear(lambda text: render_preview(TemplateSource(text), {"names": 1}), source, SIZE)


def test_unused_data_is_linear() -> None:
    source = TemplateSource("".join(f"{{{{ name{number} }}}}" for number in range(100)))
    check_linear(
        lambda data: render_preview(source, data), lambda count: {f"other{number}": 1 for number in range(count)}, SIZE
    )


def test_numbers_of_references_have_a_limit() -> None:
    """The standard library raises ValueError for a number of more than 4,300 digits."""
    assert unescape(f"a&#{'9' * 5_000};b&#65;&amp;") == "a\ufffdbA&"
    assert lint_html(f'<a href="&#{"9" * 5_000}">')


def test_deep_styles_are_reported() -> None:
    """The library that parses styles raises RecursionError for deep ones."""
    for source in (f'<a style="b:{"[" * 5_000}">', f"<style>a{{b:{'(' * 5_000}</style>"):
        assert "css-broken" in {finding.code for finding in lint_html(source)}


def test_addresses_are_bounded_before_they_are_read(subtests: pytest.Subtests) -> None:
    """An address of encoded words stopped the gateway for 2 s with each alert."""
    for part in ("=?x", " ", "<", "a.", "\u0316\u0301", "é", '"'):
        with subtests.test(ascii(part)):
            with pytest.raises(NotMailable, match="too long for an e-mail address"):
                parse_mailbox(part * MAX_MAILBOX_LENGTH + "x@example.org")
            with pytest.raises(NotMailable):
                parse_mailbox(f"{part * 200}x")


def test_subjects_are_bounded_before_they_are_encoded() -> None:
    subject = parse_mail(encode_mail(_mail("=?x" * 20_000)))["Subject"]
    assert len(subject) == MAX_SUBJECT_CHARACTERS
    assert b"Subject: " in encode_mail(_mail("é " * MAX_SUBJECT_CHARACTERS))


def test_links_in_text_do_not_nest() -> None:
    assert html_to_text("<a href=one>first <a href=two>second</a></a>") == "first (one)second (two)"


def _mail(subject: str) -> MailMessage:
    box = Mailbox("ada", "example.org")
    return MailMessage("1", box, box, subject, "text", None, NOW)


def _without_findings(work: Callable[[str], object], text: str) -> None:
    try:
        work(text)
    except TemplateError:
        return
