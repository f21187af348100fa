"""Styles in mails: what stays in the head, what loses there, and what mail clients drop."""

import pytest

from tests.support.scaling import check_linear
from wattgate.delivery.templates.html.mail_clients import FIGURES, join_clients
from wattgate.delivery.templates.html.style_sheets import without_states
from wattgate.delivery.templates.language.diagnostics import Finding
from wattgate.delivery.templates.rendering import TemplateSource, render
from wattgate.delivery.templates.report import build_report, render_preview

PAGE = '<html lang="en"><head><style>{style}</style></head><body><p class="a">x <a href="https://a.example">y</a></p>'


def findings(style: str, code: str) -> list[Finding]:
    report = build_report(TemplateSource(PAGE.format(style=style), "s", "p"), {})
    return [finding for finding in report.findings if finding.code == code]


@pytest.mark.parametrize(
    ("style", "kept", "inlined"),
    [
        ("p:is(.a, :hover) { color: red }", "p:is(.a, :hover){ color: red }", 'class="a">'),
        ("p:not(:hover) { color: red }", "p:not(:hover){ color: red }", 'class="a">'),
        ("p:not(.b) { color: red }", "", 'class="a" style="color: red;">'),
        ("p:lang(en) { color: red }", "p:lang(en){ color: red }", 'class="a">'),
        ("p { color: red; &:hover { color: blue } }", "p{&:hover { color: blue }}", 'class="a" style="color: red;">'),
        ("@font-face { font-family: x }", "@font-face { font-family: x }", 'class="a">'),
        ("@page { margin: 1cm }", "@page { margin: 1cm }", 'class="a">'),
    ],
)
def test_rule_that_no_style_of_an_element_can_express_stays(style: str, kept: str, inlined: str) -> None:
    """The library that inlines styles dropped the rules that it does not understand without a word."""
    head, _, body = render(TemplateSource(PAGE.format(style=style), "s"), {}).html.partition("</head>")
    assert head.partition("<style>")[2] == (f"{kept}</style>" if kept else "")
    assert inlined in body


def test_one_style_element_keeps_the_order_of_rules() -> None:
    style = "p:hover{color:red} @media print{p{color:blue}} @import url(https://a.example/x.css); a:focus{color:red}"
    document = f'<meta charset="utf-8"><style>{style}</style><style media="print">b{{margin:0}}</style><p>x</p>'
    head = render(TemplateSource(document, "s"), {}).html.partition("</head>")[0]
    order = ["charset", "@import", "p:hover", "@media print{p", "a:focus", "@media print{b"]
    assert sorted(order, key=head.index) == order
    assert head.count("<style>") == 1


@pytest.mark.parametrize(
    ("style", "line", "words"),
    [
        (".a{width:9px}\n@media (max-width:480px){\n.a{width:100%}}", 3, "width of .a in @media (max-width:480px)"),
        (
            ".a{width:9px}\n@media screen and (min-width:1px){.a{width:100%;height:1px}}",
            2,
            "width of .a in @media screen",
        ),
        ("a{color:red}\na:hover{color:blue}", 2, "color of a:hover"),
        ("a{background:#fff}\na:hover{background-color:blue}", 2, "background-color of a:hover"),
        (".a{padding-left:1px}\n@media print{.a{padding:0}}", 2, "padding of .a in @media print"),
        (".a{color:red}\n[data-ogsc] .a{color:blue}", 2, "color of [data-ogsc] .a"),
        (".a{color:red!important}\n@media print{.a{color:blue!important}}", 2, "color of .a in @media print"),
    ],
)
def test_rule_of_the_head_that_loses_is_reported(style: str, line: int, words: str) -> None:
    (found,) = findings(style, "style-loses")
    assert (found.line, found.severity, found.hint) == (line, "warning", "write !important after the value")
    assert found.message.startswith(words)


@pytest.mark.parametrize(
    "style",
    [
        ".a{width:9px} @media (max-width:480px){.a{width:100% !important}}",
        ".a{width:9px} @media (max-width:480px){.b{width:100%} .a{height:1px}}",
        ".a{color:red} .a::before{color:blue} .a:hover{color:red}",
        ".a{border:0} @font-face{border:1px} @media print{.a{border-radius:1px !important}}",
        "a:hover{color:red} @media print{p{color:red}}",
    ],
)
def test_rule_of_the_head_that_applies_is_not_reported(style: str) -> None:
    assert findings(style, "style-loses") == []


def test_media_query_that_loses_is_reported_with_the_clients_that_do_not_read_it() -> None:
    (found,) = findings(".a{color:red} @media (prefers-color-scheme:dark){.a{color:blue}}", "style-loses")
    assert "in all clients but Gmail, " in found.message
    sheet = '<style media="print">.a{color:blue}</style><style>.a{color:red}</style><p class="a">x</p>'
    (found,) = [
        each for each in build_report(TemplateSource(sheet, "s", "p"), {}).findings if each.code == "style-loses"
    ]
    assert (found.line, found.column) == (1, 22)


def test_size_of_the_styles_in_the_head_is_reported_with_the_client_that_ignores_them() -> None:
    def sheet(count: int) -> str:
        return "".join(f"a:hover{{margin:{number}px}}" for number in range(count))

    (limit,) = FIGURES.style_bytes.values()
    small, large = sheet(500), sheet(1_000)
    assert len(small) < limit < len(large)
    assert findings(small, "style-too-large") == []
    (found,) = findings(large, "style-too-large")
    assert "Gmail on the web ignores more than 16,384" in found.message


@pytest.mark.parametrize(
    ("style", "message"),
    [
        ("a:hover{}", ":hover in a:hover is dropped by Gmail on iOS, "),
        ("@media (prefers-color-scheme: dark){}", "@media (prefers-color-scheme) is dropped by Gmail, "),
        ("@media print{p{gap:1px}}", "gap: 1px is dropped by "),
        ("p{width:calc(1px + 2px)}", "width: calc(1px + 2px) is dropped by Outlook, "),
        ("p{width:calc(1rem)}", "width: calc(1rem) is dropped by "),
        ("p{width:9vmin}", "width: 9vmin is dropped by "),
        ("p{color:var(--x)}", "color: var(--x) is dropped by Gmail, "),
        ("p{-webkit-transform:none}", "-webkit-transform: none is dropped by Gmail, "),
        ("@font-face{font-family:x}", "@font-face is dropped by Gmail, "),
        ("p[title]{}", "[] in p[title] is dropped by Gmail in mobile browsers, "),
    ],
)
def test_style_that_clients_drop_is_reported_with_them(style: str, message: str) -> None:
    assert [found.message for found in findings(style, "css-dropped") if found.message.startswith(message)]


def test_element_that_clients_drop_is_reported_with_them() -> None:
    report = build_report(TemplateSource("<video src='https://a.example/x'></video><svg></svg><p>x</p>", "s", "p"))
    dropped = [found.message for found in report.findings if found.code == "element-dropped"]
    assert [message.partition(" is ")[0] for message in dropped] == ["<video>", "<svg>"]
    assert all("Gmail" in message for message in dropped)


def test_selectors_without_states_select_the_elements_of_the_mail() -> None:
    selectors = {
        "a:hover": "a",
        "[data-ogsc] .a": "* .a",
        "u + .body .a": "*+.body .a",
        "li > :hover": "li>*",
        "p::before": "",
        "p:after, b": "b",
        ".ExternalClass p": "* p",
        ".a[data-ogsc]": ".a",
        "p:not(.x):hover, a:first-child:focus b": "p:not(.x),a:first-child b",
        ":root": ":root",
    }
    assert {selector: without_states(selector) for selector in selectors} == selectors


def test_declarations_are_compared_in_linear_time() -> None:
    def document(count: int) -> TemplateSource:
        style = "".join(f"a{number}:1;" for number in range(count))
        return TemplateSource(f'<style>p:hover{{{style}}}</style><p style="{style.replace(":1", ":2")}">x</p>')

    check_linear(render_preview, document, 300)


def test_figures_of_clients_have_a_date_and_a_licence() -> None:
    assert (FIGURES.licence.partition(",")[0], len(FIGURES.updated)) == ("MIT", len("2026-05-13"))
    assert len(FIGURES.properties) > 100
    assert join_clients(["A", "B", "C", "D", "E"]) == "A, B, C and 2 others"
    assert join_clients(["A"]) == "A"
