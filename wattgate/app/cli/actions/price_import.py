"""Import prices of a home's dynamic tariff from a price source: a file with an answer, or requests to the source."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote, urlsplit
from zoneinfo import ZoneInfo

import typer

from wattgate.app.cli.actions.file_imports import MAX_SHOWN_REFUSALS
from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_current_gateway
from wattgate.app.cli.imports.tariffs import import_prices
from wattgate.app.cli.input_files import open_input, read_text
from wattgate.app.homes.home_selection import HomeChoice, Meter, find_home, resources_of_home
from wattgate.app.settings import Settings
from wattgate.clock import to_ms, utc_now
from wattgate.db.models import VirtualEntity
from wattgate.db.queries.displays import DEFAULT_ZONE
from wattgate.delivery.outbound_http import OutboundHttpClient, OutboundRequestFailed
from wattgate.errors import BadInput
from wattgate.operations.core.runner import Runner
from wattgate.price_sources.answers import (
    MAX_ANSWER_BYTES,
    Answer,
    Page,
    describe_span,
    join_pages,
    read_answer,
    read_page,
    split_range,
)
from wattgate.price_sources.sources import (
    PriceSource,
    Request,
    check_parameters,
    fill_in,
    packaged_source,
    parse_source,
    source_names,
    source_text,
)
from wattgate.principal import Principal, Role
from wattgate.values.toml_files import MAX_TOML_BYTES

MAX_PAGES = 100
"""Maximum pages of the answers to one request."""

MAX_SHOWN_GAPS = 10
REQUEST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PriceOptions:
    """The options of both commands: the source with its parameters, and the home."""

    source: PriceSource
    parameters: Mapping[str, str]
    choice: HomeChoice
    dry_run: bool


@dataclass(frozen=True, slots=True)
class _Target:
    """The home whose tariff gets the prices, and its resource with the tariff."""

    home: VirtualEntity
    resource_id: str


def tariff_sources(*, name: str | None) -> None:
    """Print the price sources, or the file of one."""
    if name is not None:
        out.print(source_text(name), markup=False, highlight=False, soft_wrap=True, end="")
        return
    for source in map(packaged_source, source_names()):
        out.print(f"{source.name:16} {source.title}", markup=False, highlight=False, soft_wrap=True)


def tariff_prices(
    *,
    file: Path,
    source: str,
    home: str,
    parameter: Sequence[str] | None,
    application: str | None,
    user: str | None,
    gas: bool,
    export: bool,
    dry_run: bool,
) -> None:
    """Import the prices of a file with an answer of a price source."""
    options = _parse_options(source, parameter, HomeChoice(home, application, user, _meter(gas, export)), dry_run)
    check_parameters(options.source, options.parameters, with_request=False)
    with open_input(file) as opened:
        content = opened.read(MAX_ANSWER_BYTES + 1)

    async def run(runner: Runner) -> bool:
        target = await _find_target(runner, options.choice)
        return await _store(runner, options, target, read_answer(options.source, content, options.parameters))

    _finish(run_async(with_current_gateway(Settings(), lambda gateway: run(gateway.runner))))


def tariff_fetch(
    *,
    source: str,
    home: str,
    parameter: Sequence[str] | None,
    from_: datetime | None,
    days: int,
    application: str | None,
    user: str | None,
    gas: bool,
    export: bool,
    dry_run: bool,
) -> None:
    """Ask a price source for prices, and import them."""
    options = _parse_options(source, parameter, HomeChoice(home, application, user, _meter(gas, export)), dry_run)
    check_parameters(options.source, options.parameters, with_request=True)
    request = options.source.request
    if request is None:
        raise BadInput(f"The price source {options.source.name} has no table `request`. Use `wattgate tariff prices`.")

    async def run(runner: Runner, settings: Settings) -> bool:
        target = await _find_target(runner, options.choice)
        zone = ZoneInfo(target.home.time_zone or DEFAULT_ZONE)
        first = (from_ or utc_now().astimezone(zone)).date()
        start, end = (datetime(at.year, at.month, at.day, tzinfo=zone) for at in (first, first + timedelta(days=days)))
        http = OutboundHttpClient(
            settings.egress_policy, timeout_seconds=REQUEST_SECONDS, max_body_bytes=MAX_ANSWER_BYTES + 1
        )
        pages = [page async for page in _fetch(http, options, request, start, end)]
        return await _store(runner, options, target, join_pages(pages))

    settings = Settings()
    _finish(run_async(with_current_gateway(settings, lambda gateway: run(gateway.runner, settings))))


def _finish(is_whole: bool) -> None:
    raise typer.Exit(0 if is_whole else 1)


def _meter(gas: bool, export: bool) -> Meter:
    if gas and export:
        raise typer.BadParameter("Use only one of --gas and --export.")
    return Meter.GAS if gas else Meter.EXPORT if export else Meter.ELECTRICITY


def _parse_options(source: str, parameter: Sequence[str] | None, choice: HomeChoice, dry_run: bool) -> PriceOptions:
    """Return the options that both commands have."""
    return PriceOptions(_load_source(source), dict(map(_parse_parameter, parameter or ())), choice, dry_run)


def _load_source(name: str) -> PriceSource:
    """Return the source of the package with a name, or that of a TOML file."""
    path = Path(name)
    if path.suffix != ".toml":
        return packaged_source(name)
    with open_input(path) as opened:
        return parse_source(opened.read(MAX_TOML_BYTES + 1), path.stem)


def _parse_parameter(text: str) -> tuple[str, str]:
    """Return the name and the value of a parameter. A value that begins with @ is that of a file."""
    name, equals, value = text.partition("=")
    if not equals or not value:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE.", param_hint="--parameter")
    if value.startswith("@"):
        value = read_text(Path(value[1:])).strip()
    if not value.isprintable():
        raise typer.BadParameter(f"{name} has characters that cannot be printed.", param_hint="--parameter")
    return name, value


async def _fetch(
    http: OutboundHttpClient, options: PriceOptions, request: Request, start: datetime, end: datetime
) -> AsyncIterator[Page]:
    """Yield the pages of the answers of a time range. Pause between two requests, as the source says."""
    asked = False
    for begin, stop in split_range(start, end, request.max_days):
        instants = {"start": _written(request, begin), "end": _written(request, stop, is_end=True)}
        parameters = {**options.parameters, **instants}
        encoded = {name: quote(value, safe="") for name, value in parameters.items()}
        url: str | None = fill_in(request.url, encoded)
        for _ in range(MAX_PAGES):
            if url is None:
                break
            if asked:
                await asyncio.sleep(request.pause_seconds)
            asked = True
            content = await _ask(http, options.source.name, request, url, parameters)
            page = read_page(options.source, content, options.parameters)
            if page.next_page and urlsplit(page.next_page)[:2] != urlsplit(url)[:2]:
                raise BadInput(f"The next page of {options.source.name} is at another host, which is not asked.")
            url = page.next_page
            yield page


def _written(request: Request, at: datetime, *, is_end: bool = False) -> str:
    """Return a time as a request writes it. The end of a range of dates is its last date."""
    if request.times == "date":
        return str((at - timedelta(days=1 if is_end else 0)).date())
    if request.times in ("seconds", "milliseconds"):
        return str(to_ms(at) // (1000 if request.times == "seconds" else 1))
    return f"{at.astimezone(UTC):{'%Y%m%d%H%M' if request.times == 'compact' else '%Y-%m-%dT%H:%MZ'}}"


async def _ask(
    http: OutboundHttpClient, source_name: str, request: Request, url: str, parameters: Mapping[str, str]
) -> bytes:
    """Return the body of an answer. `parameters` has also the start and the end of the time range.

    Errors do not show the URL, which may have a token.
    """
    host = urlsplit(url).hostname
    headers = {name: fill_in(text, parameters) for name, text in request.headers.items()}
    body = fill_in(request.body, parameters).encode()
    try:
        answer = await http.send("POST" if body else "GET", url, headers=headers, body=body)
    except OutboundRequestFailed as error:
        raise BadInput(f"{host} of the price source {source_name} did not answer: {error.message}.") from None
    if answer.status != 200:
        begin = answer.body[:200].decode(errors="replace")
        raise BadInput(
            f"{host} of the price source {source_name} answered with status {answer.status}: {begin!r}. Check "
            "the parameters. After 429, wait before you ask again."
        )
    return answer.body


async def _find_target(runner: Runner, choice: HomeChoice) -> _Target:
    """Return the home that is meant, and its only resource of the kind. Raise NotFound or BadInput if there is none."""
    home = await find_home(runner, choice)
    resources = [one for one in (await resources_of_home(runner, home, choice)).resources if not one.cost_of]
    if len(resources) != 1:
        raise BadInput(f"Home {home.name!r} has {len(resources)} resources of this kind, so its tariff is not clear.")
    return _Target(home, resources[0].resource_id)


async def _store(runner: Runner, options: PriceOptions, target: _Target, answer: Answer) -> bool:
    """Store the prices of an answer, and print what it has. Return whether each price is stored."""
    for line in [*answer.problems[:MAX_SHOWN_REFUSALS], *_description(answer)]:
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if options.dry_run:
        return not answer.problems
    refused = len(answer.problems)

    def refuse(number: int, reason: str) -> None:
        nonlocal refused
        refused += 1
        if refused <= MAX_SHOWN_REFUSALS:
            price = answer.prices[number - 1]
            text = f"{describe_span(price.start, price.end)}: {reason}"
            err.print(text, markup=False, highlight=False, soft_wrap=True)

    report = await import_prices(
        answer.prices,
        currency=answer.currency,
        vat_included=options.source.vat == "included",
        runner=runner,
        principal=Principal(Role.SYSTEM, application_id=target.home.application_id),
        resource_id=target.resource_id,
        refuse=refuse,
    )
    out.print(f"{report.recorded:,} prices set, {refused:,} refused", soft_wrap=True)
    return not refused


def _description(answer: Answer) -> list[str]:
    if not answer.prices:
        return [f"no price can be read, {len(answer.problems):,} are unclear"]
    prices, gaps = answer.prices, answer.gaps
    lowest, highest = (find(price.rate for price in prices).normalize() for find in (min, max))
    lines = [
        f"{len(prices):,} prices of {describe_span(prices[0].start, prices[-1].end)}, {lowest:f} to {highest:f} "
        f"{answer.currency} for a kWh, {len(answer.problems):,} unclear, {len(gaps):,} gaps"
    ]
    return lines + [f"no price: {describe_span(*gap)}" for gap in gaps[:MAX_SHOWN_GAPS]]
