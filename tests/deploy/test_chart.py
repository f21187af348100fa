"""The Helm chart: its objects by several sets of values, and the settings that it names."""

import json
import re
import shlex
from collections.abc import Callable
from copy import deepcopy
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

import jsonschema_rs
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]

from tests.deploy.chart import CHART, Rendered, built_renderer, read_rendered, run_renderer
from tests.deploy.files import DEPLOY, ROOT
from tests.support.command import wattgate_in
from tests.support.markdown import code_blocks
from tests.support.short_form import sample
from wattgate.app.settings import Settings

pytestmark = pytest.mark.long("builds the renderer of the chart with Go")

NAMES = {f"WATTGATE_{name.upper()}": field for name, field in Settings.model_fields.items()}
README = (DEPLOY / "README.md").read_text()
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
SECRETS: dict[str, Any] = {
    "WATTGATE_DATABASE_URL": {"name": "gateway", "key": "database-url"},
    "WATTGATE_SECRET_KEYS": {"name": "gateway", "key": "secret-keys"},
}
SEVERAL: dict[str, Any] = {"secrets": SECRETS | {"WATTGATE_REDIS_URL": {"name": "redis", "key": "url"}}}
ONE: dict[str, Any] = {"secrets": SECRETS, "gateway": {"replicas": 1}, "worker": {"enabled": False}}
EVERYTHING: dict[str, Any] = SEVERAL | {
    "image": {"digest": "sha256:" + "a" * 64, "pullSecrets": ["registry"]},
    "settings": {
        "WATTGATE_ALLOWED_ORIGINS": ["https://energy.example"],
        "WATTGATE_DRAIN_LIMIT": 27.5,
        "WATTGATE_MAX_BODY_BYTES": 4194304,
        "WATTGATE_CONSENT_REQUIRED": True,
        "WATTGATE_REDIS_CA_FILE": "/etc/wattgate/redis/ca.pem",
    },
    "extraEnv": [
        {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"},
        {"name": "OTEL_SERVICE_INSTANCE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ],
    "secretFiles": [{"name": "redis-ca", "mountPath": "/etc/wattgate/redis"}],
    "erasureList": {"claim": "shared"},
    "gateway": {"podAnnotations": {"a": "b"}, "nodeSelector": {"c": "d"}, "tolerations": [{"operator": "Exists"}]},
    "worker": {"affinity": {"nodeAffinity": {}}, "podAnnotations": {"a": "b"}},
    "autoscaling": {"enabled": True},
    "service": {"annotations": {"a": "b"}},
    "serviceAccount": {"name": "energy", "annotations": {"a": "b"}},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "annotations": {"a": "b"},
        "hosts": ["energy.example"],
        "tls": [{"secretName": "energy-tls", "hosts": ["energy.example"]}],
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
    "networkPolicy": {"clients": [{"podSelector": {}}], "egress": [{"to": [{"podSelector": {}}]}]},
}
NOTHING: dict[str, Any] = ONE | {
    key: {"enabled": False}
    for key in ("migration", "podDisruptionBudget", "networkPolicy", "serviceMonitor", "prometheusRule")
}
CASES: dict[str, dict[str, Any]] = {"several": SEVERAL, "one": ONE, "everything": EVERYTHING, "nothing": NOTHING}

OLDEST = yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"].removeprefix(">=").removesuffix(".0-0")
VERSIONS = (OLDEST, kubernetes_validate.latest_version())
"""The oldest version of Kubernetes that the chart accepts, and the newest one whose schemas are installed."""

UNCHECKED_KINDS = {"PrometheusRule", "ServiceMonitor"}
"""Kinds of the Prometheus operator, which have no schema in Kubernetes."""

Render = Callable[[dict[str, Any]], Rendered]


@pytest.fixture(scope="module")
def chart_renderer() -> Path:
    return built_renderer()


@pytest.fixture(scope="module")
def render(chart_renderer: Path, tmp_path_factory: pytest.TempPathFactory) -> Render:
    """A function that renders each set of values once. Tests must not change the result."""
    folder, known = tmp_path_factory.mktemp("values"), dict[str, Rendered]()

    def run(values: dict[str, Any]) -> Rendered:
        key = json.dumps(values)
        if key not in known:
            result = run_renderer(chart_renderer, folder, values)
            assert result.returncode == 0, result.stderr
            known[key] = read_rendered(result.stdout)
        return known[key]

    return run


def pod_templates(rendered: Rendered) -> list[dict[str, Any]]:
    return [one["spec"]["template"] for kind in ("Deployment", "Job") for one in rendered.of_kind(kind)]


def environment(rendered: Rendered, kind: str, name: str) -> dict[str, Any]:
    (container,) = rendered.one(kind, name)["spec"]["template"]["spec"]["containers"]
    listed = [(one["name"], one.get("value", one.get("valueFrom"))) for one in container["env"]]
    assert len(dict(listed)) == len(listed)
    return dict(listed)


def problems(values: dict[str, Any]) -> list[str]:
    return [error.message for error in jsonschema_rs.validator_for(SCHEMA).iter_errors(values)]


def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object, for the argument `object_pairs_hook`. Of two equal keys, JSON only keeps the last."""
    names = [name for name, _ in pairs]
    assert sorted(set(names)) == sorted(names)
    return dict(pairs)


def test_schema_of_the_values_is_valid() -> None:
    jsonschema_rs.meta.validate(SCHEMA)
    json.loads((CHART / "values.schema.json").read_text(), object_pairs_hook=refuse_repeated_keys)


def test_example_of_the_readme_follows_the_schema_and_renders(render: Render) -> None:
    (example,) = map(yaml.safe_load, code_blocks(README, "yaml"))
    rendered = render(example)
    assert problems(rendered.values) == []
    (commands,) = [code for code in code_blocks(README, "sh") if "kubectl create secret" in code]
    keys = dict(re.findall(r"^([\w-]+)=(.+)$", commands, re.MULTILINE))
    assert keys.keys() == {reference["key"] for reference in example["secrets"].values()}
    policy = rendered.one("NetworkPolicy", "wattgate-gateway")["spec"]["ingress"][0]
    assert policy["from"] == example["networkPolicy"]["clients"]
    assert set(example["settings"]) <= set(NAMES)


def test_schema_of_each_value_is_that_of_the_default_values() -> None:
    assert yaml.safe_load((CHART / "values.yaml").read_text()).keys() == SCHEMA["properties"].keys() - {"global"}


def test_notes_name_a_command_that_exists(render: Render, tmp_path: Path) -> None:
    notes = render(SEVERAL).files["NOTES.txt"].replace("\\\n", "")
    (command,) = re.findall(r"-- +wattgate (home .+)", notes)
    shown = wattgate_in(tmp_path, *shlex.split(command), "--help")
    assert shown.returncode == 0, shown.stderr
    options = {word for word in shlex.split(command) if word.startswith("--")}
    assert options <= set(re.findall(r"--[\w-]+", shown.stdout))


def test_merged_values_follow_their_schema(render: Render, subtests: pytest.Subtests) -> None:
    for case, values in CASES.items():
        with subtests.test(case):
            assert problems(render(values).values) == []


def test_objects_follow_the_schemas_of_kubernetes(render: Render, subtests: pytest.Subtests) -> None:
    for case, version in sample(product(CASES, VERSIONS), key=" ".join):
        with subtests.test(f"{case} {version}"):
            objects = [one for one in render(CASES[case]).objects if one["kind"] not in UNCHECKED_KINDS]
            assert objects
            for one in objects:
                # A strict schema refuses members that Kubernetes does not know.
                kubernetes_validate.validate(one, version, strict=True)


def test_schemas_of_kubernetes_find_a_misspelled_member(render: Render) -> None:
    deployment = deepcopy(render(ONE).one("Deployment", "wattgate-gateway"))
    deployment["spec"]["template"]["spec"]["containers"][0]["readinessprobe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="'readinessprobe' was unexpected"):
        kubernetes_validate.validate(deployment, OLDEST, strict=True)


def test_readme_names_the_kinds_that_no_schema_checks() -> None:
    (listed,) = re.findall(r"Not checked: (Helm itself.+?)\n\n", README, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", listed)) == UNCHECKED_KINDS


def test_schema_refuses_values_without_a_database() -> None:
    assert problems(yaml.safe_load((CHART / "values.yaml").read_text())) != []


def test_schema_separates_settings_from_secrets() -> None:
    secrets = {name for name, field in NAMES.items() if "SecretStr" in str(field.annotation)}
    with_password = {name for name in NAMES if name.endswith("_URL")} - {"WATTGATE_PUBLIC_URL", "WATTGATE_PUSH_URL"}
    own = {"WATTGATE_HOST", "WATTGATE_PORT", "WATTGATE_METRICS_HOST", "WATTGATE_METRICS_PORT"}
    names = jsonschema_rs.validator_for(SCHEMA["properties"]["settings"])
    refused = {name for name in NAMES if not names.is_valid({name: "x"})}
    assert refused == secrets | with_password | own | {"WATTGATE_DELIVER", "WATTGATE_ERASURE_LIST"}


def test_settings_that_the_chart_names_exist(render: Render) -> None:
    texts = [path.read_text() for path in CHART.rglob("*") if path.is_file()]
    named = set(re.findall(r"WATTGATE_[A-Z0-9_]*[A-Z0-9]", "\n".join(texts)))
    assert named - {"WATTGATE_SERVICE_HOST"} <= set(NAMES)
    extra = {one["name"] for one in EVERYTHING["extraEnv"]}
    assert set(environment(render(EVERYTHING), "Deployment", "wattgate-gateway")) - extra <= set(NAMES)


def test_gateways_and_workers_get_extra_variables(render: Render) -> None:
    rendered = render(EVERYTHING)
    for name in ("wattgate-gateway", "wattgate-worker"):
        given = environment(rendered, "Deployment", name)
        assert given["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://collector:4318"
        assert given["OTEL_SERVICE_INSTANCE"] == {"fieldRef": {"fieldPath": "metadata.name"}}


def test_schema_refuses_settings_among_extra_variables() -> None:
    extra = jsonschema_rs.validator_for(SCHEMA["properties"]["extraEnv"])
    assert extra.is_valid(EVERYTHING["extraEnv"])
    assert not extra.is_valid([{"name": "WATTGATE_SECRET_KEYS", "value": "1:x"}])


def test_settings_of_a_gateway_are_those_that_wattgate_reads(
    render: Render, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    given = environment(render(EVERYTHING), "Deployment", "wattgate-gateway")
    for name, value in given.items():
        if isinstance(value, str) and name != "WATTGATE_REDIS_CA_FILE":
            monkeypatch.setenv(name, value)
    settings = Settings()
    assert (settings.allowed_origins, settings.max_body_bytes) == (["https://energy.example"], 4194304)
    assert (settings.consent_required, settings.deliver, settings.drain_limit) == (True, False, 27.5)
    assert (settings.host, settings.port, settings.metrics_port) == ("0.0.0.0", 8000, 9090)


def test_secrets_are_references(render: Render, subtests: pytest.Subtests) -> None:
    for case, values in CASES.items():
        with subtests.test(case):
            rendered = render(values)
            assert rendered.of_kind("Secret") == []
            for kind, name in [(one["kind"], one["metadata"]["name"]) for one in rendered.of_kind("Deployment")]:
                given = environment(rendered, kind, name)
                references = {key: value for key, value in given.items() if not isinstance(value, str) and key in NAMES}
                assert references == {key: {"secretKeyRef": reference} for key, reference in values["secrets"].items()}


def test_each_pod_is_restricted(render: Render, subtests: pytest.Subtests) -> None:
    for case, values in CASES.items():
        for template in pod_templates(render(values)):
            with subtests.test(f"{case} {template['metadata']}"):
                check_restricted(template["spec"])


def check_restricted(spec: dict[str, Any]) -> None:
    """Assert that pods of a specification cannot do more than they need."""
    assert spec["automountServiceAccountToken"] is False
    # A Service `wattgate` would set WATTGATE_SERVICE_HOST, an unknown setting.
    assert spec["enableServiceLinks"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in spec["volumes"]}


def test_all_pods_share_the_list_of_erasures(render: Render) -> None:
    rendered = render(EVERYTHING)
    for kind, name in (("Deployment", "gateway"), ("Deployment", "worker"), ("Job", "migration")):
        spec = rendered.one(kind, f"wattgate-{name}")["spec"]["template"]["spec"]
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        (claimed,) = [
            mount
            for mount in spec["containers"][0]["volumeMounts"]
            if "persistentVolumeClaim" in volumes[mount["name"]]
        ]
        assert volumes[claimed["name"]]["persistentVolumeClaim"] == {"claimName": "shared"}
        file = PurePosixPath(environment(rendered, kind, f"wattgate-{name}")["WATTGATE_ERASURE_LIST"])
        assert (str(file.parent), "readOnly" in claimed) == (claimed["mountPath"], False)
    assert "WATTGATE_ERASURE_LIST" not in environment(render(SEVERAL), "Deployment", "wattgate-gateway")
    assert problems(SEVERAL | {"settings": {"WATTGATE_ERASURE_LIST": "/elsewhere"}})


def test_pods_get_more_time_than_the_drain(render: Render, subtests: pytest.Subtests) -> None:
    for limit, grace in ((None, 30), (27.5, 33), (28, 33), (10, 15)):
        with subtests.test(f"drain limit {limit}"):
            settings = {} if limit is None else {"settings": {"WATTGATE_DRAIN_LIMIT": limit}}
            for deployment in render(SEVERAL | settings).of_kind("Deployment"):
                assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == grace


def test_selectors_find_their_pods(render: Render) -> None:
    rendered = render(EVERYTHING)
    labels = {
        one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"] for one in rendered.of_kind("Deployment")
    }
    selectors = [
        *((one["metadata"]["name"], one["spec"]["selector"]["matchLabels"]) for one in rendered.of_kind("Deployment")),
        ("wattgate-gateway", rendered.one("Service", "wattgate")["spec"]["selector"]),
        *(
            (one["metadata"]["name"], one["spec"]["selector"]["matchLabels"])
            for one in rendered.of_kind("PodDisruptionBudget")
        ),
        *(
            (one["metadata"]["name"], one["spec"]["podSelector"]["matchLabels"])
            for one in rendered.of_kind("NetworkPolicy")
        ),
    ]
    assert len(selectors) == 6
    for name, selector in selectors:
        assert [one for one in labels if selector.items() <= labels[one].items()] == [name]


def test_prometheus_reads_gateways_and_workers(render: Render) -> None:
    rendered = render(EVERYTHING)
    monitor = rendered.one("ServiceMonitor", "wattgate")["spec"]
    monitored = [
        one
        for one in rendered.of_kind("Service")
        if monitor["selector"]["matchLabels"].items() <= one["metadata"]["labels"].items()
    ]
    (service,) = (one["spec"] for one in monitored)
    assert service["ports"][0]["name"] == monitor["endpoints"][0]["port"]
    port_name = service["ports"][0]["targetPort"]
    read = {
        (container["name"], port["containerPort"])
        for template in pod_templates(rendered)
        if service["selector"].items() <= template["metadata"].get("labels", {}).items()
        for container in template["spec"]["containers"]
        for port in container.get("ports", [])
        if port["name"] == port_name
    }
    assert read == {("gateway", 9090), ("worker", 9090)}
    for name in ("wattgate-gateway", "wattgate-worker"):
        assert environment(rendered, "Deployment", name)["WATTGATE_METRICS_PORT"] == "9090"
        rules = rendered.one("NetworkPolicy", name)["spec"]["ingress"]
        peers = [one["from"] for one in rules if one["ports"] == [{"port": port_name}]]
        assert peers == [rendered.values["networkPolicy"]["monitoring"]]


def test_nobody_reaches_a_worker_without_monitoring(render: Render) -> None:
    rendered = render(EVERYTHING | {"networkPolicy": {"monitoring": []}})
    assert rendered.one("NetworkPolicy", "wattgate-worker")["spec"]["ingress"] == []
    assert len(rendered.one("NetworkPolicy", "wattgate-gateway")["spec"]["ingress"]) == 1


def test_operator_gets_the_rules_of_prometheus(render: Render) -> None:
    rule = render(EVERYTHING).one("PrometheusRule", "wattgate")
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    assert rule["spec"] == yaml.safe_load((DEPLOY / "prometheus/rules.yaml").read_text())


def test_autoscaler_follows_open_sockets(render: Render) -> None:
    rendered = render(EVERYTHING)
    scaler = rendered.one("HorizontalPodAutoscaler", "wattgate-gateway")["spec"]
    assert scaler["metrics"][0]["pods"]["metric"]["name"] in (
        ROOT / "docs/reference/observability.md"
    ).read_text().split("`")

    assert scaler["scaleTargetRef"]["name"] == "wattgate-gateway"
    assert "replicas" not in rendered.one("Deployment", "wattgate-gateway")["spec"]


def test_migration_runs_before_other_objects_exist(render: Render) -> None:
    job = render(EVERYTHING).one("Job", "wattgate-migration")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    spec = job["spec"]["template"]["spec"]
    assert "serviceAccountName" not in spec
    assert spec["containers"][0]["args"] == ["db", "upgrade"]


def test_gateway_delivers_without_workers(render: Render) -> None:
    rendered = render(ONE)
    assert environment(rendered, "Deployment", "wattgate-gateway")["WATTGATE_DELIVER"] == "true"
    assert len(rendered.of_kind("Deployment")) == 1


def test_values_can_switch_objects_off(render: Render) -> None:
    assert {one["kind"] for one in render(NOTHING).objects} == {"Deployment", "Service", "ServiceAccount"}


def test_no_text_has_a_missing_value(render: Render) -> None:
    texts = {(case, name): text for case, values in CASES.items() for name, text in render(values).files.items()}
    assert texts
    assert [where for where, text in texts.items() if "<no value>" in text] == []


def test_chart_refuses_values_that_cannot_work(chart_renderer: Path, tmp_path: Path, subtests: pytest.Subtests) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"secrets": SECRETS}, "Set secrets.WATTGATE_REDIS_URL, or gateway.replicas to 1"),
        (ONE | {"autoscaling": {"enabled": True}}, "Set secrets.WATTGATE_REDIS_URL"),
        (
            ONE | {"secrets": {"WATTGATE_DATABASE_URL": {"name": "a", "key": "b"}}},
            "Set secrets.WATTGATE_SECRET_KEYS or",
        ),
        (
            {"secrets": SEVERAL["secrets"] | {"WATTGATE_MQTT_URL": {"name": "a", "key": "b"}}},
            "Set gateway.replicas to 1 without autoscaling",
        ),
        (ONE | {"settings": {"WATTGATE_SECRET_KEYS": "1:x"}}, "both are set"),
    ]
    for values, message in refused:
        with subtests.test(message):
            result = run_renderer(chart_renderer, tmp_path, values)
            assert result.returncode == 1
            assert message in result.stderr
