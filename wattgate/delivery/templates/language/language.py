"""Template language: python-liquid with the tags and filters that messages need, and with limits.

There are no includes, no captures and no filter that marks a value as safe. So `OutputWriter` escapes every value.
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO, TypeGuard

import liquid
from liquid import RenderContext, Undefined
from liquid.builtin import content, filters, illegal, output, tags
from liquid.builtin.tags.for_tag import ForNode
from liquid.exceptions import FilterArgumentError, LiquidError, LiquidTypeError
from liquid.undefined import UNDEFINED

from wattgate.delivery.templates.language.contract_values import DeclaredFloat, DeclaredInteger, declare_value
from wattgate.delivery.templates.language.diagnostics import MAX_SUGGESTIONS, closest_match, format_path
from wattgate.delivery.templates.language.format_filters import FORMAT_FILTERS
from wattgate.delivery.templates.language.formatting import MAX_NUMBER, FormatError
from wattgate.delivery.templates.language.output_writer import (
    MissingVariable,
    OutputWriter,
    RenderLimitExceeded,
    contains_object,
)

MAX_VALUE_LENGTH = 20_000
"""Maximum characters of a filter's input or output, and maximum items of a list."""

MAX_ARGUMENT_LENGTH = 1_000
"""Maximum characters of a filter's argument. With `MAX_VALUE_LENGTH`, it limits the output of `replace` and `join`."""

_NUMBER = re.compile(r"\s*[+-]?\d{1,15}(\.\d{1,15})?\s*")

NUMBER_FILTERS: Mapping[str, Callable[..., Any]] = {
    "abs": filters.math.abs_,
    "at_least": filters.math.at_least,
    "at_most": filters.math.at_most,
    "ceil": filters.math.ceil,
    "divided_by": filters.math.divided_by,
    "floor": filters.math.floor,
    "minus": filters.math.minus,
    "modulo": filters.math.modulo,
    "plus": filters.math.plus,
    "round": filters.math.round_,
    "times": filters.math.times,
}
"""Filters for numbers."""

TEXT_FILTERS: Mapping[str, Callable[..., Any]] = {
    "append": filters.string.append,
    "capitalize": filters.string.capitalize,
    "compact": filters.array.compact,
    "concat": filters.array.concat,
    "date": filters.misc.date,
    "default": filters.misc.default,
    "downcase": filters.string.downcase,
    "first": filters.array.first,
    "join": filters.array.join,
    "last": filters.array.last,
    "lstrip": filters.string.lstrip,
    "map": filters.array.map_,
    "prepend": filters.string.prepend,
    "remove": filters.string.remove,
    "replace": filters.string.replace,
    "reverse": filters.array.reverse,
    "rstrip": filters.string.rstrip,
    "size": filters.misc.size,
    "slice": filters.string.slice_,
    "sort": filters.array.sort,
    "split": filters.string.split,
    "strip": filters.string.strip,
    "truncate": filters.string.truncate,
    "truncatewords": filters.string.truncatewords,
    "uniq": filters.array.uniq,
    "upcase": filters.string.upcase,
    "where": filters.array.where,
}
"""Filters for texts, lists and dates."""


STRING_FILTERS = frozenset(
    (
        "append", "capitalize", "downcase", "join", "lstrip", "prepend", "remove", "replace", "rstrip", "split",
        "strip", "truncate", "truncatewords", "upcase",
    )
)  # fmt: skip
"""Filters that turn numbers into texts."""


class LimitedRenderContext(RenderContext):
    """Context of one rendering. It limits loop iterations and processor time, and reports missing variables."""

    __slots__ = ("check_at", "iterations", "processor_deadline", "searches", "writer")

    def __init__(self, template: liquid.BoundTemplate, writer: OutputWriter, data: Mapping[str, object]) -> None:
        self.writer, self.iterations, self.searches = writer, 0, 0
        self.processor_deadline = time.thread_time() + writer.limits.max_seconds
        self.check_at = time.monotonic() + writer.limits.max_seconds
        super().__init__(template, globals=template.make_globals(data))

    @property
    def disabled_tags(self) -> list[str]:
        """An empty list. The library reads it before it renders each node, so the deadline is checked here."""
        if time.monotonic() > self.check_at:
            self._check_processor_time()
        return []

    @disabled_tags.setter
    def disabled_tags(self, tags: list[str]) -> None:
        """Ignore the value. The library only sets an empty list."""

    def _check_processor_time(self) -> None:
        """Raise an error if the rendering has used its processor time, else set when it can have used it.

        On a busy machine, a rendering may wait for longer than it computes. The clock of the processor costs more to
        read than that of the machine, so it is read only when the time has passed on the latter.
        """
        remaining = self.processor_deadline - time.thread_time()
        if remaining <= 0:
            limit = self.writer.limits.max_seconds
            raise RenderLimitExceeded(f"rendering takes longer than {limit:g} s of processor time")
        self.check_at = time.monotonic() + remaining

    def raise_for_loop_limit(self, length: int = 1) -> None:
        """Add the iterations of a loop that starts."""
        self.iterations += length
        if self.iterations > self.writer.limits.max_iterations:
            raise RenderLimitExceeded(f"the loops have more than {self.writer.limits.max_iterations:,} iterations")

    def get(self, path: list[object], *, token: Any, default: object = UNDEFINED) -> object:
        """Return the value at a path, or `MissingVariable`."""
        value = super().get(path, token=token, default=default)
        if isinstance(value, Undefined) and not isinstance(value, MissingVariable):
            self.searches += 1
            suggestion = self._closest_path(path) if self.searches <= MAX_SUGGESTIONS else None
            return MissingVariable(format_path(path), token, suggestion)
        return value

    def _closest_path(self, path: list[object]) -> str | None:
        """Return the path with its unknown name replaced by the most similar known name; None if none is similar."""
        value: Any = self.scope
        known: Any = {**self.globals, **self.locals}
        for depth, segment in enumerate(path):
            try:
                value = self.scope[str(segment)] if depth == 0 else self.get_item(value, segment)
            except (KeyError, TypeError, IndexError):
                similar = closest_match(str(segment), known) if isinstance(known, Mapping) else None
                return format_path([*path[:depth], similar, *path[depth + 1 :]]) if similar else None
            known = value
        return None

    def filter(self, name: str, token: Any) -> Callable[..., object]:
        """Return a filter that checks the size of its input, arguments and output."""
        unbounded = self._format_filter(name, token) if name in FORMAT_FILTERS else super().filter(name, token)

        def bounded(value: object, *arguments: object, **keywords: object) -> object:
            for argument in (value, *arguments, *keywords.values()):
                if isinstance(argument, MissingVariable) and (name != "default" or argument is not value):
                    self.writer.report_missing(argument)
                if name in NUMBER_FILTERS:
                    _check_number(argument, name)
            for argument in (*arguments, *keywords.values()):
                _check_size(argument, MAX_ARGUMENT_LENGTH if isinstance(argument, str) else MAX_VALUE_LENGTH)
            _check_size(value, MAX_VALUE_LENGTH)
            if name in STRING_FILTERS:
                value, *arguments_ = (self._as_text(argument, name) for argument in (value, *arguments))
                arguments = tuple(arguments_)
            result = unbounded(value, *arguments, **keywords)
            _check_size(result, MAX_VALUE_LENGTH)
            return _keep_declaration(value, result) if name in NUMBER_FILTERS else result

        return bounded

    def _as_text(self, value: object, name: str) -> object:
        """Return a number as the text that the writer would write. The library would write all its digits."""
        if isinstance(value, list) and name == "join":
            if contains_object(value):
                raise ValueError("the filter join takes texts and numbers, not objects; use map first")
            return [self._as_text(item, "") for item in value]
        return self.writer.text_of(value) if isinstance(value, float) or is_declared_number(value) else value

    def _format_filter(self, name: str, token: Any) -> Callable[..., object]:
        """Return a filter that writes a value by culture. It writes nothing for an empty value."""

        def write(value: object, *arguments: object) -> object:
            if value is None or value == "" or isinstance(value, Undefined):
                return None
            if any(isinstance(argument, Undefined) for argument in arguments):
                return None  # reported as missing
            try:
                return FORMAT_FILTERS[name](self.writer.formats, value, *arguments)
            except FormatError as error:
                raise LiquidTypeError(f"the filter {name} {error}", token=token) from None
            except TypeError:
                raise FilterArgumentError(f"the filter {name} has too many arguments", token=token) from None

        return write


class ValueNode(output.OutputNode):
    """`{{ value }}`. The writer escapes it."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        value = self.expression.evaluate(context)
        if not isinstance(buffer, OutputWriter):
            raise TypeError("the buffer must be an OutputWriter")
        if isinstance(value, MissingVariable):
            buffer.report_missing(value)
            return 0
        return buffer.write_value(value, self.token)


class TagWithPosition(liquid.Tag):
    """Adds the position of the tag to parse errors that have no position."""

    def get_node(self, stream: liquid.TokenStream) -> liquid.Node:
        token = stream.current
        try:
            return self.parse(stream)
        except LiquidError as error:
            if error.token is None or error.token.start_index < 0:
                error.token = token
            raise


class ValueTag(TagWithPosition, output.Output):
    node_class = ValueNode


class LoopNode(ForNode):
    """`{% for %}`. Its iterable must exist, and is limited in size."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        iterable = self.expression.iterable.evaluate(context)
        if isinstance(iterable, MissingVariable) and isinstance(buffer, OutputWriter):
            buffer.report_missing(iterable)
        _check_size(iterable, MAX_VALUE_LENGTH)
        return super().render_to_output(context, buffer)


class LoopTag(TagWithPosition, tags.for_tag.ForTag):
    node_class = LoopNode


class IfTag(TagWithPosition, tags.if_tag.IfTag):
    """`{% if %}`."""


class UnlessTag(TagWithPosition, tags.unless_tag.UnlessTag):
    """`{% unless %}`."""


class CaseTag(TagWithPosition, tags.case_tag.CaseTag):
    """`{% case %}`."""


class AssignTag(TagWithPosition, tags.assign_tag.AssignTag):
    """`{% assign %}`."""


TAGS = (
    content.Literal, illegal.Illegal, ValueTag, IfTag, UnlessTag, CaseTag, LoopTag, AssignTag, tags.for_tag.BreakTag,
    tags.for_tag.ContinueTag, tags.comment_tag.CommentTag, tags.inline_comment_tag.InlineCommentTag,
)  # fmt: skip
"""All tags of the template language."""


class TemplateEnvironment(liquid.Environment):
    """An environment with only the tags and filters of this module."""

    block_nesting_limit = 30
    local_namespace_limit = 2_000_000
    suppress_blank_control_flow_blocks = False

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        """Register the tags and filters."""
        for tag in TAGS:
            self.add_tag(tag)
        self.filters.update({**NUMBER_FILTERS, **TEXT_FILTERS, **FORMAT_FILTERS})


TEMPLATE_ENVIRONMENT = TemplateEnvironment()


def _check_size(value: object, limit: int) -> None:
    if isinstance(value, str | list | tuple | range | Mapping) and len(value) > limit:
        raise RenderLimitExceeded(f"a value is longer than {limit:,}")
    if isinstance(value, int | float) and abs(value) > MAX_NUMBER:
        raise RenderLimitExceeded(f"a number is larger than {MAX_NUMBER:,}")


def _check_number(value: object, name: str) -> None:
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError(f"{name} takes numbers, and {value[:40]!r} is not a number")


def _keep_declaration(value: object, result: object) -> object:
    """Return the result of a calculation with the declaration of its first value."""
    is_number = isinstance(result, int | float) and not isinstance(result, bool)
    return declare_value(result, value.variable) if is_number and is_declared_number(value) else result


def is_declared_number(value: object) -> TypeGuard[DeclaredInteger | DeclaredFloat]:
    return isinstance(value, DeclaredInteger | DeclaredFloat)
