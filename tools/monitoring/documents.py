"""Tables of the documentation: the metrics with their use, and the alerts with what to do."""

import re

from prometheus_client.metrics import MetricWrapperBase

from monitoring.table import ALERTS, MONITORED


def exported_name(metric: MetricWrapperBase) -> str:
    """Return the name of a metric as Prometheus stores it, without the suffixes of histograms."""
    (family,) = metric.collect()
    return f"{family.name}_total" if family.type == "counter" else family.name


def metric_table() -> str:
    """Return the Markdown table of the metrics."""
    rows = ["| metric | type | labels | meaning | use |", "|---|---|---|---|---|"]
    for monitored in MONITORED:
        (family,) = monitored.metric.collect()
        labels = ", ".join(f"`{label}`" for label in monitored.metric._labelnames)
        name = exported_name(monitored.metric)
        rows.append(f"| `{name}` | {family.type} | {labels} | {family.documentation} | {monitored.use} |")
    return "\n".join(rows)


def alert_table() -> str:
    """Return the Markdown table of the alerts."""
    rows = ["| alert | severity | meaning | what to do |", "|---|---|---|---|"]
    rows += [f"| `{one.name}` | {one.severity.value} | {one.summary} | {one.action} |" for one in ALERTS]
    return "\n".join(rows)


def replace_part(page: str, name: str, table: str) -> str:
    """Return a page with another table between `<!-- name -->` and `<!-- end of name -->`."""
    marks = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end of {name} -->)", re.DOTALL)
    replaced, count = marks.subn(lambda _: table + "\n", page)
    if count != 1:
        raise ValueError(f"The page has the marks of {name!r} {count} times; it needs them once")
    return replaced
