#!/usr/bin/env python3
"""Write the files that come from the table of metrics and alerts: pages, rules and the dashboard.

    python tools/generate_monitoring.py    # `make generate` runs it

tools/monitoring/table.py is the table.
"""

from pathlib import Path

from monitoring.dashboard import dashboard_file
from monitoring.documents import alert_table, metric_table, replace_part
from monitoring.rules import rule_file

ROOT = Path(__file__).resolve().parent.parent


def generated_files(root: Path = ROOT) -> dict[Path, str]:
    """Return the text of each file that comes from the table, as a whole or in part."""
    reference, guide = root / "docs/reference/observability.md", root / "docs/how-to/operate.md"
    return {
        reference: replace_part(reference.read_text(), "metrics", metric_table()),
        guide: replace_part(guide.read_text(), "alerts", alert_table()),
        root / "deploy/prometheus/rules.yaml": rule_file(),
        root / "deploy/chart/rules.yaml": rule_file(),
        root / "deploy/grafana/dashboard.json": dashboard_file(),
    }


if __name__ == "__main__":
    for path, text in generated_files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
