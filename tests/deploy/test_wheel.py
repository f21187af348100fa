"""The wheel and the source archive of a release: their files, and `wattgate demo` from the wheel in an empty folder."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement

from tests.support.ports import free_port
from tests.support.server_program import start_server_program

ROOT = Path(__file__).parents[2]
COMMIT_TIME = "1700000000"
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "Makefile", "wattgate")

pytestmark = pytest.mark.long("builds the wheel, and a demonstration with a year of readings")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, in which `make dist` has built the files of a release beside files of an earlier build."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    earlier = folder / "build" / "lib" / "wattgate" / "removed_module.py"
    earlier.parent.mkdir(parents=True)
    earlier.touch()
    # the environment is installed, and it is the one of this process
    command = ["make", "--silent", "--assume-old=.venv/installed-dev", f"BIN={Path(sys.executable).parent}", "dist"]
    (folder / ".venv").mkdir()
    (folder / ".venv" / "installed-dev").touch()
    subprocess.run(command, cwd=folder, env=os.environ | {"SOURCE_DATE_EPOCH": COMMIT_TIME}, check=True, timeout=60)
    return folder


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    (built,) = (checkout / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel, which finds its dependencies in that of the tests."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    installed = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    installed.joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        folder / "bin" / "python",
        "install",
        "--quiet",
        "--no-deps",
    ]
    subprocess.run([*pip, "--no-index", wheel], check=True, timeout=60)
    return folder / "bin"


def sources() -> Iterator[str]:
    """Yield the paths of the files of the package."""
    files = (path.relative_to(ROOT) for path in (ROOT / "wattgate").rglob("*") if path.is_file())
    yield from (path.as_posix() for path in files if "__pycache__" not in path.parts)


def test_wheel_has_each_file_of_the_package_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == set(sources())


def test_wheel_requires_the_dependencies_of_the_project(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    required = {Requirement(line) for line in metadata.get_all("Requires-Dist", ())}
    assert {one for one in required if "extra" not in str(one.marker)} == set(map(Requirement, project["dependencies"]))
    assert metadata["Requires-Python"] == project["requires-python"]


def test_source_archive_builds_the_same_package(checkout: Path, tmp_path: Path) -> None:
    (archive,) = (checkout / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {member.name.partition("/")[2] for member in packed.getmembers() if member.isfile()}
    assert set(sources()) | {"LICENSE", "README.md", "pyproject.toml"} <= names
    assert [name for name in names if name.startswith(("tests/", "build/"))] == []


async def test_demonstration_works_from_the_wheel_in_an_empty_folder(environment: Path, tmp_path: Path) -> None:
    folder, log, port = tmp_path / "empty", tmp_path / "log", free_port()
    folder.mkdir()
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("WATTGATE_", "PYTHON"))}
    command = ["env", f"--chdir={folder}", str(environment / "wattgate"), "demo"]
    process = await start_server_program(command, port, log, environment=settings | {"WATTGATE_PORT": str(port)})
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            page = await client.get("/display")
            assert (page.status_code, "Home display" in page.text) == (200, True)
            fields = "name resources { current { value unit } }"
            query = {"query": f"{{ application {{ homes {{ edges {{ node {{ {fields} }} }} }} }} }}"}
            answer = await client.post("/graphql", json=query, auth=("demo-app", "demo-secret"))
            assert len(answer.json()["data"]["application"]["homes"]["edges"]) == 4, answer.text
        process.send_signal(signal.SIGINT)
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert "Traceback" not in log.read_text()
    assert [path.name for path in folder.iterdir()] == [".wattgate"]
