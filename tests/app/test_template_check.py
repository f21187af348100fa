"""`wattgate template check`, as CI runs it."""

import json
from pathlib import Path

from typer.testing import CliRunner

from wattgate.app.cli.main import app

GOOD = '<html lang="en"><p>Dear {{ name }}</p></html>'


def check(file: Path, html: str, *options: str) -> tuple[int, str]:
    file.write_text(html, encoding="utf-8")
    done = CliRunner().invoke(app, ["template", "check", str(file), *options])
    return done.exit_code, done.output


def test_a_good_template_ends_with_0(tmp_path: Path) -> None:
    assert check(tmp_path / "a.html", GOOD, "--subject", "Hi", "--preheader", "p")[0] == 0


def test_an_error_ends_with_1_and_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('{"name": "Ada"}')
    status, told = check(tmp_path / "a.html", "<p>\n{{ nmae }}</p>", "--data", str(tmp_path / "data.json"))
    assert status == 1
    assert f"{tmp_path / 'a.html'}:2:4: error nmae is not in the data (did you mean name?)" in told
    assert check(tmp_path / "a.html", "{{ name")[0] == 1


def test_software_reads_the_same_as_json(tmp_path: Path) -> None:
    status, told = check(tmp_path / "a.html", '<img src="https://a.example/x.png">', "--json")
    read = json.loads(told)
    assert (status, read["ok"]) == (1, False)
    assert {"image-without-alt", "subject-empty"} <= {one["code"] for one in read["findings"]}
    assert read["findings"][0]["line"] == 1


def test_data_that_is_none_is_refused(tmp_path: Path) -> None:
    for text in ("{", "[1]"):
        (tmp_path / "data.json").write_text(text)
        assert check(tmp_path / "a.html", GOOD, "--data", str(tmp_path / "data.json"))[0] == 2
