"""The prose check finds each banned pattern in each kind of text, and accepts correct technical English."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

import prose_check
from prose.rules import matches
from prose.text import sentences

ROOT = Path(__file__).parents[2]

BANNED = (
    "The subscriber is told of a change.",
    "The gateway tells the client what failed.",
    "Wait before telling Redis.",
    "The name, as said above, is unique.",
    "Whoever writes it owns it.",
    "The job is for whomever it concerns.",
    "A request is checked by whatever interface it uses.",
    "Accept whatever was sent by the client.",
    "Notify those who watch.",
    "All who wait are released.",
    "The permission of who calls decides.",
    "Who calls may read.",
    "Those of one application share a budget.",
    "What a template asks is checked.",
    "Return what is stored.",
    "Delete what was imported.",
    "The log has what has failed.",
    "Sort by what changed last.",
    "The token is good no longer.",
    "The token is good no more.",
    "A token that is no longer good is refused.",
    "The code is good for one minute.",
    "The record stands in a list.",
    "A reading that stood there is replaced.",
    "The worker keeps house at night.",
    "Mend the link and start again.",
    "The fault is mended.",
    "The oldest connections give way.",
    "Mail and push, one each.",
    "A row is what must leave the house.",
    "Both doors return the same result.",
    "The runner is the one waist.",
    "Refuse a login in haste.",
    "Look up tokens seen lately.",
    "Count the messages in hand.",
    "Limits go by the account.",
    "The cost comes to 12 pence.",
    "More than the budget was asked for.",
    "The fields that the client asks of the type.",
    "The database is asked once.",
    "The time when the record was made.",
    "Redis is away for a moment.",
    "Clients stay away for 30 seconds.",
    "Messages are held until the peer reads.",
    "At most 10 fields are taken.",
)

CORRECT = (
    "Say what to do.",
    "The message says what failed, which value, and what to do.",
    "What happens when Redis is unavailable",
    "What to do when the database is full",
    "What is the price now?",
    "What is your name, and what was stored?",
    "Who may read the readings?",
    "DST stands for daylight saving time.",
    "The standing charge is 40 pence a day, in --standing-charge.",
    "Two processes can tell the two streams apart.",
    "You understand an outstanding, standalone and long-standing problem.",
    "Users who have no account cannot log in.",
    "The user who created the alert owns it.",
    "Requests are made with the header token.",
    "A change was made to the schema.",
    "The setting is made available to workers.",
    "The worker holds the lease while the advisory lock is held.",
    "The parameter is taken from the request.",
    "The clock change is taken into account.",
    "Halves are rounded away from zero.",
    "Redis discards the stream right away.",
    "That said, the limit applies to each application.",
    "The user is asked to confirm the address.",
    "Ask for a new code with createCode.",
    "The log shows what is wrong.",
    "A client can fetch only what has changed.",
    "Run maintenance indoors.",
    "Goodness knows no morestyle, whosoevers or mendicants.",
)


def words_of(text: str) -> list[str]:
    return [match.words for sentence in sentences(text) for match in matches(sentence.value)]


def test_each_banned_pattern_is_found() -> None:
    assert [sentence for sentence in BANNED if not words_of(sentence)] == []


def test_correct_technical_english_passes() -> None:
    assert {sentence: words for sentence in CORRECT if (words := words_of(sentence))} == {}


def literal(text: str) -> str:
    return '"' + text + '"'


FILES: dict[str, tuple[str, Callable[[str], str]]] = {
    "docs": ("docs/how-to/page.md", lambda text: f"# Title\n\nSome words.\n\n- {text}\n"),
    "table": ("README.md", lambda text: f"| setting | use |\n|---|---|\n| `A` | {text} |\n"),
    "schema": ("docs/reference/schema.graphql", lambda text: f'"""\n{text}\n"""\ntype Query {{ a: Int }}\n'),
    "deprecation": (
        "docs/schema.graphql",
        lambda text: f"type Query {{ a: Int @deprecated(reason: {literal(text)}) }}\n",
    ),
    "docstrings": ("wattgate/a.py", lambda text: f'"""{text}"""\n'),
    "attribute docstrings": ("tests/a.py", lambda text: f'A = 1\n"""{text}"""\n'),
    "comments": ("bench/a.py", lambda text: f"# {text}\nA = 1\n"),
    "messages": ("wattgate/a.py", lambda text: f"def run():\n    raise Conflict({literal(text)})\n"),
    "formatted messages": ("wattgate/a.py", lambda text: f'def run(a):\n    raise Conflict(f"{{a}} failed. {text}")\n'),
    "logs": ("wattgate/a.py", lambda text: f"log.info({literal(text)}, 1)\n"),
    "settings": (
        "wattgate/a.py",
        lambda text: f"class A:\n    b: int = Field(default=1, description={literal(text)})\n",
    ),
    "options": ("wattgate/a.py", lambda text: f"a = typer.Option(help={literal(text)})\n"),
    "commands": ("wattgate/a.py", lambda text: f'@app.command()\ndef run():\n    """{text}"""\n'),
    "metrics": ("wattgate/a.py", lambda text: f'A = Counter("a", {literal(text)})\n'),
    "descriptions": ("wattgate/a.py", lambda text: f"a = strawberry.field(description={literal(text)})\n"),
    "strings": ("wattgate/a.py", lambda text: f'A = {{"a": {literal(text)}}}\n'),
    "html": ("wattgate/app/static/a.html", lambda text: f"<h1>Title</h1>\n<p>{text}</p>\n"),
    "attributes": ("wattgate/app/static/b.html", lambda text: f"<button aria-label={literal(text)}>x</button>\n"),
    "js strings": ("wattgate/app/static/a.js", lambda text: f"show({literal(text)});\n"),
    "js templates": ("wattgate/app/static/b.js", lambda text: f"show(`${{count}}. {text}`);\n"),
    "js comments": ("wattgate/app/static/c.js", lambda text: f"/** {text} */\nexport const a = 1;\n"),
    "css comments": ("wattgate/app/static/a.css", lambda text: f"/* {text} */\n"),
    "yaml": (".github/ISSUE_TEMPLATE/bug.yml", lambda text: f"body:\n  - label: {text}\n"),
    "configuration": ("Makefile", lambda text: f"# {text}\nrun:\n"),
}


def test_each_banned_pattern_is_found_in_each_kind_of_text(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for kind in FILES:
        with subtests.test(kind):
            for sentence, found in findings_of_each(BANNED, kind, tmp_path / kind):
                assert found, sentence
                assert all(finding.path == FILES[kind][0] and finding.line >= 1 for finding in found)


def test_correct_technical_english_passes_in_each_kind_of_text(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for kind in FILES:
        with subtests.test(kind):
            for sentence, found in findings_of_each(CORRECT, kind, tmp_path / kind):
                assert found == [], sentence


def findings_of_each(texts: Iterable[str], kind: str, folder: Path) -> Iterator[tuple[str, list[prose_check.Finding]]]:
    """Yield each sentence with its findings, in a new folder with only one file of this kind."""
    place, wrap = FILES[kind]
    path = folder / place
    path.parent.mkdir(parents=True)
    for sentence in texts:
        path.write_text(wrap(sentence))
        yield sentence, prose_check.findings(folder)


@pytest.mark.parametrize("place", ["tests/data/a.md", ".venv/lib/a.py", "tests/node/node_modules/a.js", "a.lock"])
def test_third_party_files_are_not_checked(place: str, tmp_path: Path) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# It is told.\n")
    assert prose_check.findings(tmp_path) == []
    assert prose_check.findings(tmp_path, [path]) == []


def test_finding_names_the_line_the_words_and_the_replacement(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n\nThe client sends a\nrequest and is\ntold the result.\n")
    (finding,) = prose_check.findings(tmp_path)
    assert str(finding) == (
        "README.md:5: 'told' in \"...The client sends a request and is told the result.\": "
        "use 'report', 'return', 'publish', 'notify', 'show' or 'state'"
    )


def test_phrase_is_found_across_lines_and_markup(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Return\n**what\nis** stored. The oldest give\n> way.\n")
    (tmp_path / "a.py").write_text('"""Close\n\n    The oldest connections give\n    way.\n"""\n')
    assert [finding.line for finding in prose_check.findings(tmp_path)] == [3, 3]


def test_concatenated_string_is_reported_at_the_line_of_the_word(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'def run():\n    raise Conflict(\n        "the record exists, "\n        "whoever made it"\n    )\n'
    )
    assert [finding.line for finding in prose_check.findings(tmp_path)] == [4]


def test_code_is_not_checked(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "Use `told` and [a link](https://example.org/what-is-told).\n\n```python\n# whoever\n```\n\n    >>> told\n"
    )
    (tmp_path / "a.py").write_text('told = said = "told"\nassert told == "told"\n')
    (tmp_path / "a.js").write_text('const told = /"whoever tells it"/.test(said);\n')
    (tmp_path / "a.html").write_text("<style>told</style><script>told()</script><code>told</code>\n")
    assert prose_check.findings(tmp_path) == []


def test_names_are_split_into_words_and_checked(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "class ToldState: ...\ndef tell_all(): ...\ndef test_the_client_is_told(): ...\n"
        "def test_what_is_stored_is_returned(): ...\ndef made(): ...\n"
    )
    (tmp_path / "a.js").write_text("class A {\n  #tell(a) {\n  }\n}\nfunction mendLink() {}\n")
    found = [(finding.path, finding.line, finding.kind) for finding in prose_check.findings(tmp_path)]
    assert found == [
        ("a.js", 2, "names"),
        ("a.js", 5, "names"),
        ("a.py", 1, "names"),
        ("a.py", 2, "names"),
        ("a.py", 3, "tests"),
        ("a.py", 4, "tests"),
    ]


def test_sentences_of_documentation_have_at_most_forty_words(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "Intro.\n\n" + "word " * 40 + "`a b c`.\n\n" + "word " * 20 + "end. " + "Word " * 20 + "end.\n"
    )
    (tmp_path / "a.py").write_text(f'"""{"word " * 60}"""\n')
    (finding,) = prose_check.findings(tmp_path)
    assert (finding.path, finding.line) == ("README.md", 3)
    assert finding.problem.startswith("41 words in ")


def test_error_messages_have_more_than_one_word(tmp_path: Path) -> None:
    path = tmp_path / "wattgate" / "a.py"
    path.parent.mkdir()
    path.write_text(
        'def run(key):\n    raise Conflict("exists")\n'
        '    raise Forbidden("login failed", path="email")\n    raise KeyError(key)\n'
    )
    (finding,) = prose_check.findings(tmp_path)
    assert (finding.line, finding.kind) == (2, "messages")


def test_paths_and_kinds_restrict_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("It is told.\n")
    (tmp_path / "a.py").write_text('"""It is told."""\n# It is told.\n')
    root = ["--root", str(tmp_path)]
    assert prose_check.main([*root, str(tmp_path / "a.py"), "--only", "comments"]) == 1
    assert [line.split(" ")[0] for line in capsys.readouterr().out.splitlines()] == ["a.py:2:"]
    assert prose_check.main([*root, str(tmp_path / "a.py"), "--only", "docs"]) == 0
    assert prose_check.main([*root, "--counts"]) == 1
    assert capsys.readouterr().out.split()[:6] == ["1", "comments", "1", "docs", "1", "docstrings"]
    with pytest.raises(SystemExit):
        prose_check.main([*root, "--only", "words"])
    assert prose_check.main([*root, str(ROOT / "README.md")]) == 2


def test_commit_messages_that_follow_the_convention_pass() -> None:
    messages = [
        "realtime: close idle connections\n",
        "graphql, rest_compat: return the trace id\n\nClients need it to report an error.\n",
        "docs/how-to: add a page\n# told\n",
        "tools: feed the check\n\n# ------------------------ >8 ------------------------\ntold\n",
        "Merge branch 'main'\n",
        'Revert "realtime: close idle connections"\n',
        "fixup! anything\n",
    ]
    assert {message: found for message in messages if (found := prose_check.commit_findings(message))} == {}


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("Close idle connections\n", "write the subject as `area: imperative`"),
        ("realtime: " + "a" * 63 + "\n", "the subject has 73 characters"),
        ("realtime: closes idle connections\n", "'closes'"),
        ("realtime: closed idle connections\n", "'closed'"),
        ("realtime: closing idle connections\n", "'closing'"),
        ("realtime: close idle connections.\n", "ends with a full stop"),
        ("realtime: close idle connections\nbody\n", "the second line has text"),
        ("realtime: tell subscribers\n", "'tell'"),
        ("realtime: close idle connections\n\nThe oldest give way.\n", "'give way'"),
    ],
)
def test_commit_messages_are_checked(
    message: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "COMMIT_EDITMSG"
    path.write_text(message)
    assert prose_check.main(["--commit-message", str(path)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert problem in line
