"""`wattgate template check`: exit status, text report and JSON report."""

import json
from pathlib import Path

from typer.testing import CliRunner

from wattgate.app.cli.main import app

VALID = '<html lang="en"><p>Dear {{ name }}</p></html>'


def check(file: Path, html: str, *options: str) -> tuple[int, str]:
    file.write_text(html, encoding="utf-8")
    result = CliRunner().invoke(app, ["template", "check", str(file), *options])
    return result.exit_code, result.output


def test_valid_template_exits_with_0(tmp_path: Path) -> None:
    assert check(tmp_path / "a.html", VALID, "--subject", "Hi", "--preheader", "p")[0] == 0


def test_error_exits_with_1_and_is_printed_with_position(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('{"name": "Ada"}')
    status, output = check(tmp_path / "a.html", "<p>\n{{ nmae }}</p>", "--data", str(tmp_path / "data.json"))
    assert status == 1
    assert f"{tmp_path / 'a.html'}:2:4: error nmae is not in the data (did you mean name?)" in output
    assert check(tmp_path / "a.html", "{{ name")[0] == 1


def test_json_option_prints_report_as_json(tmp_path: Path) -> None:
    status, output = check(tmp_path / "a.html", '<img src="https://a.example/x.png">', "--json")
    report = json.loads(output)
    assert (status, report["ok"]) == (1, False)
    assert {"image-without-alt", "subject-empty"} <= {finding["code"] for finding in report["findings"]}
    assert report["findings"][0]["line"] == 1


def test_invalid_data_file_is_rejected(tmp_path: Path) -> None:
    for text in ("{", "[1]"):
        (tmp_path / "data.json").write_text(text)
        assert check(tmp_path / "a.html", VALID, "--data", str(tmp_path / "data.json"))[0] == 2
