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


def test_names_and_formats_are_checked_by_the_variables_of_the_alert_type(tmp_path: Path) -> None:
    variables, html = tmp_path / "variables.json", '<html lang="fr"><p>{{ use | kwh }}</p>'
    options = ("--subject", "{{ recipient.name }}", "--preheader", "p", "--variables", str(variables))
    variables.write_text('[{"name": "use", "type": "ENERGY", "sample": 1.5}]')
    status, output = check(tmp_path / "a.html", html, *options, "--culture", "fr-FR", "--json")
    assert (status, json.loads(output)["namesChecked"]) == (0, True)
    status, output = check(tmp_path / "a.html", html + "{% if uze %}{% endif %}", *options)
    assert (status, "uze is not a variable of the alert type (did you mean use?)" in output) == (1, True)
    assert check(tmp_path / "a.html", html + "{{ value }}", "--rule-kind", "PACE")[0] == 1
    assert check(tmp_path / "a.html", VALID, "--culture", "English, please")[0] == 2
    for text in ("{", "{}", '[{"name": "use"}]', '[{"name": "home.x", "type": "TEXT"}]'):
        variables.write_text(text)
        assert check(tmp_path / "a.html", html, *options)[0] == 2
