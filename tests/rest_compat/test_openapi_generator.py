"""openapi-generator reads the OpenAPI document. Its clients in five languages compile, or can be imported."""

import asyncio
import json
import shutil
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import node, python_tools
from tests.support.openapi import DOCUMENT
from tests.support.system_programs import required_program

SOURCES = Path(__file__).parents[1] / "openapi_clients"
LOCK = SOURCES / "openapi-generator.lock"
CONFIGURATIONS: Mapping[str, Mapping[str, Any]] = {
    "python": {},
    "typescript-fetch": {},
    "typescript-axios": {},
    "java": {"library": "native", "additionalProperties": {"openApiNullable": False}},
    "kotlin": {"additionalProperties": {"serializationLibrary": "jackson"}},
}
"""The options of each client, by the name of its generator."""

JAVA_STUBS = {
    "javax/annotation/Generated.java": "package javax.annotation; public @interface Generated "
    '{ String[] value(); String date() default ""; String comments() default ""; }',
    "org/apache/http/entity/mime/MultipartEntityBuilder.java": "package org.apache.http.entity.mime; "
    "public class MultipartEntityBuilder { }",
}
"""Classes that the Java client names and no package of PyPI contains. Nothing else of them is used."""

SHORT_RUN = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of Java for a run of seconds: the compiler of long runs and parallel collection of garbage cost more here."""

IMPORT_ALL = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import openapi_client
modules = pkgutil.walk_packages(openapi_client.__path__, "openapi_client.")
print(len([importlib.import_module(module.name) for module in modules]))
"""

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.clients,
]


async def run(*command: str | Path, folder: Path | None = None) -> str:
    """Run a command in a folder and return what it prints. Fail if it fails."""
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=PIPE, stderr=STDOUT)
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()[-6000:]
    return printed.decode()


@pytest.fixture(scope="module")
def tools() -> Path:
    """The folder of the executables beside the generator and the compiler of Kotlin."""
    return python_tools.python_tools(LOCK)


@pytest.fixture(scope="module")
def generator(tools: Path) -> Path:
    """The archive of openapi-generator, which also has the packages that the Java client needs."""
    (jar,) = tools.parent.glob("lib/python*/site-packages/openapi_generator_cli/openapi-generator.jar")
    return jar


@pytest.fixture(scope="module")
async def clients(generator: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    """Yield a folder with the sources of each client, in a folder with the name of its generator."""
    folder = tmp_path_factory.mktemp("openapi-generator")
    (folder / "openapi.json").write_text(json.dumps(DOCUMENT))
    for name, options in CONFIGURATIONS.items():
        target = {"inputSpec": str(folder / "openapi.json"), "outputDir": str(folder / name)}
        (folder / f"{name}.json").write_text(json.dumps({"generatorName": name, **target, **options}))
    required_program("javac")
    arguments = [folder / f"{name}.json" for name in CONFIGURATIONS]
    await run(
        required_program("java"), *SHORT_RUN, "-jar", generator, "batch", "--fail-fast", "--threads", "1", *arguments
    )
    yield folder
    shutil.rmtree(folder)


async def test_client_in_python_can_be_imported(tools: Path, clients: Path) -> None:
    printed = await run(tools / "python", "-c", IMPORT_ALL, clients / "python")
    assert int(printed) > len(DOCUMENT["components"]["schemas"])


@pytest.fixture(scope="module")
def javascript() -> Iterator[node.Node]:
    """Node with the compiler of TypeScript and axios."""
    with node.required_node(SOURCES) as running:
        yield running


@pytest.mark.parametrize("name", ["typescript-fetch", "typescript-axios"])
async def test_client_in_typescript_compiles(name: str, clients: Path, javascript: node.Node) -> None:
    target = javascript.folder / name
    shutil.copytree(clients / name, target)  # beside the packages that it imports
    strict = ("--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom")
    modules = ("--module", "esnext", "--moduleResolution", "bundler")
    compiler = javascript.packages / "typescript" / "bin" / "tsc"
    await run(javascript.executable, compiler, *strict, *modules, "--types", "node", "index.ts", folder=target)


async def test_client_in_java_compiles(generator: Path, clients: Path) -> None:
    sources = clients / "java" / "src" / "main" / "java"
    for name, text in JAVA_STUBS.items():
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text(text)
    files = list(sources.rglob("*.java"))
    (clients / "java-files").write_text("\n".join(map(str, files)))
    for_java = [f"-J{option}" for option in SHORT_RUN]
    options: tuple[str | Path, ...] = (
        *for_java,
        "-nowarn",
        "-proc:none",
        "-implicit:none",
        "-cp",
        generator,
        "-d",
        clients / "java-classes",
    )
    await run(required_program("javac"), *options, f"@{clients / 'java-files'}")
    assert len(files) > len(DOCUMENT["components"]["schemas"])


async def test_models_of_the_client_in_kotlin_compile(tools: Path, generator: Path, clients: Path) -> None:
    """Compile the classes of all schemas. No registry that the tests use has the library of its HTTP calls."""
    jars = list(tools.parent.glob("lib/python*/site-packages/run_kotlin_kernel/jars/*.jar"))
    (compiler,) = [jar for jar in jars if jar.name.endswith("-all.jar")]
    class_path = ":".join(map(str, [*jars, generator]))
    options = ("-nowarn", "-no-stdlib", "-no-reflect", "-cp", class_path, "-d", clients / "kotlin-classes")
    models = clients / "kotlin" / "src" / "main" / "kotlin" / "org" / "openapitools" / "client" / "models"
    main = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
    await run(required_program("java"), *SHORT_RUN, "-Xmx2g", "-cp", compiler, main, *options, models)
    assert list((clients / "kotlin-classes").rglob("Error.class"))
