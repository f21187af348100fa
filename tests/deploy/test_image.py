"""The image of deploy/Containerfile: Podman builds it, and runs a gateway with few rights, as deploy/README.md says."""

import json
import time
from collections.abc import Iterator

import httpx
import pytest
from packaging.utils import canonicalize_name

from supply.locks import DEPLOYMENT_LOCK, read_pins
from tests.deploy.files import DEPLOY
from tests.deploy.podman import BASE, IMAGE, PIP_OF_BASE, Podman, podman_in_its_own_folder
from tests.support.ports import free_port

README = (DEPLOY / "README.md").read_text()
VERSION = "1.2.3"
USER = 10001
START_SECONDS = 60
DRAIN_SECONDS = 40
FEW_RIGHTS = "--read-only --tmpfs /tmp --cap-drop all"
FOLDERS = {"/tmp": True, "/var/lib/wattgate": True, "/opt/wattgate": False, "/etc": False}  # noqa: S108 (in a container)
"""Whether a gateway can write in a folder."""

MAX_OWN_BYTES = 500_000_000
"""The largest size of what the image adds to its base. Most of it is pyarrow, NumPy, Babel and SQLAlchemy."""

LIST_PACKAGES = """
import json
from importlib.metadata import distributions
print(json.dumps({one.name: one.version for one in distributions()}))
"""


@pytest.fixture
def podman() -> Iterator[Podman]:
    with podman_in_its_own_folder() as podman:
        yield podman


def build(podman: Podman) -> None:
    """Build the image by the command of the README, on a base with the Python of Debian."""
    podman.make_base()
    command = "build --format docker -f deploy/Containerfile -t wattgate ."
    assert f"podman {command}" in README
    first, *others = command.split()
    arguments = [f"--build-arg=BASE={BASE}", f"--build-arg=VERSION={VERSION}", "--pull=never"]
    podman.must(first, *podman.build_options(), *arguments, *others)


def check_configuration(podman: Podman) -> None:
    """Check that the image has what the Containerfile declares."""
    image = podman.inspect(IMAGE)
    config = image["Config"]
    assert (config["User"], config["WorkingDir"]) == ("10001:10001", "/var/lib/wattgate")
    assert (config["Entrypoint"], config["Cmd"], config["StopSignal"]) == (["wattgate"], ["serve"], "SIGTERM")
    assert config["ExposedPorts"] == {"8000/tcp": {}}
    assert config["Labels"]["org.opencontainers.image.version"] == VERSION
    assert image["Healthcheck"]["Test"] == ["CMD", "wattgate", "check-health"]
    assert image["Size"] - podman.inspect(BASE)["Size"] < MAX_OWN_BYTES


def run_in_image(podman: Podman, image: str, *command: str) -> str:
    """Run a program in a new container as root. Return its output."""
    program, *arguments = command
    return podman.must("run", "--rm", *podman.run_options(), "--user=0", f"--entrypoint={program}", image, *arguments)


def check_content(podman: Podman) -> None:
    """Check that the image adds the package and the locked versions to its base, and nothing else."""
    before, after = (set(run_in_image(podman, image, "find", "/", "-xdev").splitlines()) for image in (BASE, IMAGE))
    added = {path for path in after - before if not path.startswith("/opt/wattgate/")}
    assert added == {"/opt/wattgate", "/var/lib/wattgate"}
    removed = before - after
    assert {f"/{path}" for path in PIP_OF_BASE} <= removed
    assert all("/pip" in path for path in removed)
    packages = {path for path in after if path.startswith("/opt/wattgate/lib/")}
    assert [path for path in packages if path.endswith(("site-packages/tests", "site-packages/pip"))] == []
    # files of a read-only image are compiled when it is built
    assert any("/wattgate/app/server/edge/__pycache__/serving." in path for path in packages)
    listed = json.loads(run_in_image(podman, IMAGE, "python", "-c", LIST_PACKAGES))
    installed: dict[str, str] = {canonicalize_name(name): version for name, version in listed.items()}
    assert installed.pop("wattgate")
    assert installed.items() <= {(pin.name, pin.version) for pin in read_pins(DEPLOYMENT_LOCK)}


def check_gateway(podman: Podman) -> None:
    """Upgrade the database, serve, and drain, by a user without rights on a read-only file system."""
    port = free_port()
    assert f"podman run {FEW_RIGHTS} " in README
    places = ["--volume=data:/var/lib/wattgate", f"--env=WATTGATE_PORT={port}"]
    options = [*podman.run_options(), *FEW_RIGHTS.split(), "--security-opt=no-new-privileges", *places]
    podman.must("run", "--rm", *options, IMAGE, "db", "upgrade")
    before = podman.call("run", "--rm", *options, IMAGE, "check-health")
    assert (before.returncode, "does not answer" in before.stderr) == (1, True)

    podman.must("run", "--detach", "--name=gateway", *options, IMAGE)
    deadline = time.monotonic() + START_SECONDS
    while podman.call("healthcheck", "run", "gateway").returncode:
        assert time.monotonic() < deadline, podman.call("logs", "gateway").stderr
    assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
    assert httpx.get(f"http://127.0.0.1:{port}/display").status_code == 200  # a file of the package
    check_rights(podman)

    podman.must("stop", f"--time={DRAIN_SECONDS}", "gateway")
    assert podman.inspect("gateway")["State"]["ExitCode"] == 0
    records = [json.loads(line) for line in podman.call("logs", "gateway").stderr.splitlines() if line[0] == "{"]
    assert "Drain finished" in [record["message"] for record in records]
    assert {record["process"] for record in records} == {1}


def check_rights(podman: Podman) -> None:
    """Check the user, the capabilities and the file system of the running gateway."""
    lines = podman.must("exec", "gateway", "cat", "/proc/1/status").splitlines()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    assert status["Name"] == ["wattgate"]
    assert status["Uid"] == status["Gid"] == [str(USER)] * 4
    assert {int(status[f"Cap{kind}"][0], 16) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {0}
    assert status["NoNewPrivs"] == ["1"]
    writable = {path: podman.call("exec", "gateway", "touch", f"{path}/a").returncode == 0 for path in FOLDERS}
    assert writable == FOLDERS
    assert podman.call("exec", "gateway", "python", "-m", "pip", "--version").returncode == 1


@pytest.mark.image
@pytest.mark.long("builds an image from packages of Debian and PyPI, in minutes; hadolint stays in the short form")
@pytest.mark.timeout(900)
def test_image_builds_and_serves(podman: Podman) -> None:
    build(podman)
    check_configuration(podman)
    check_content(podman)
    check_gateway(podman)
    podman.keep_images()
