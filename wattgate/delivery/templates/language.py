"""The template language: python-liquid with the tags and filters that a message needs, within limits.

There are no includes, no captures and no filter that marks a value as safe: nothing goes around the sink.
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import liquid
from liquid import RenderContext
from liquid.builtin import content, filters, illegal, output, tags
from liquid.builtin.tags.for_tag import ForNode
from liquid.exceptions import LiquidError
from liquid.undefined import UNDEFINED, Undefined

from wattgate.delivery.templates.output_writer import Beyond, Missing, Sink, nearest, spelt

MAX_VALUE = 20_000
"""Characters of a value that a filter takes or makes, and items of a list."""

MAX_ARGUMENT = 1_000
"""Characters of an argument of a filter: with `MAX_VALUE` it bounds what `replace` and `join` make."""

MAX_NUMBER = 10**15
"""Up to here a JSON number is exact."""

_NUMBER = re.compile(r"\s*[+-]?\d{1,15}(\.\d{1,15})?\s*")

NUMBERS: Mapping[str, Callable[..., Any]] = {
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
"""The filters of numbers."""

TEXTS: Mapping[str, Callable[..., Any]] = {
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
"""The filters of texts, lists and dates."""


class Context(RenderContext):
    """A rendering under way: it counts turns, looks at the time before every node, and knows what is missing."""

    __slots__ = ("deadline", "sink", "turns")

    def __init__(self, template: liquid.BoundTemplate, sink: Sink, data: Mapping[str, object]) -> None:
        self.sink, self.turns = sink, 0
        self.deadline = time.monotonic() + sink.limits.seconds
        super().__init__(template, globals=template.make_globals(data))

    @property
    def disabled_tags(self) -> list[str]:
        """Nothing. Every node asks for it before it is rendered, so that this is where the time is looked at."""
        if time.monotonic() > self.deadline:
            raise Beyond(f"it takes longer than {self.sink.limits.seconds:g} s")
        return []

    @disabled_tags.setter
    def disabled_tags(self, tags: list[str]) -> None:
        """The library sets it to nothing."""

    def raise_for_loop_limit(self, length: int = 1) -> None:
        """Count the turns of a loop that begins."""
        self.turns += length
        if self.turns > self.sink.limits.turns:
            raise Beyond(f"its loops turn more than {self.sink.limits.turns:,} times")

    def get(self, path: list[object], *, token: Any, default: object = UNDEFINED) -> object:
        """What a path leads to, or `Missing`."""
        found = super().get(path, token=token, default=default)
        if isinstance(found, Undefined) and not isinstance(found, Missing):
            return Missing(spelt(path), token, self._near(path))
        return found

    def _near(self, path: list[object]) -> str | None:
        """The path with the name that is not there replaced by the nearest one that is."""
        at: Any = self.scope
        known: Any = {**self.globals, **self.locals}
        for depth, segment in enumerate(path):
            try:
                at = self.scope[str(segment)] if depth == 0 else self.get_item(at, segment)
            except (KeyError, TypeError, IndexError):
                near = nearest(str(segment), known) if isinstance(known, Mapping) else None
                return spelt([*path[:depth], near, *path[depth + 1 :]]) if near else None
            known = at
        return None

    def filter(self, name: str, token: Any) -> Callable[..., object]:
        """A filter that takes and makes values of bounded size."""
        found = super().filter(name, token)

        def bounded(value: object, *arguments: object, **named: object) -> object:
            for given in (value, *arguments, *named.values()):
                if isinstance(given, Missing) and (name != "default" or given is not value):
                    self.sink.miss(given)
                if name in NUMBERS:
                    _check_number(given, name)
            for given in (*arguments, *named.values()):
                _check_size(given, MAX_ARGUMENT if isinstance(given, str) else MAX_VALUE)
            _check_size(value, MAX_VALUE)
            made = found(value, *arguments, **named)
            _check_size(made, MAX_VALUE)
            return made

        return bounded


class ValueNode(output.OutputNode):
    """`{{ value }}`: written through the sink."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        value = self.expression.evaluate(context)
        if not isinstance(buffer, Sink):
            raise TypeError("templates are rendered to a sink")
        if isinstance(value, Missing):
            buffer.miss(value)
            return 0
        return buffer.write_value(value, self.token)


class Placed(liquid.Tag):
    """Errors of its parsing have the tag's place, where they have none of their own."""

    def get_node(self, stream: liquid.TokenStream) -> liquid.Node:
        token = stream.current
        try:
            return self.parse(stream)
        except LiquidError as error:
            if error.token is None or error.token.start_index < 0:
                error.token = token
            raise


class Value(Placed, output.Output):
    node_class = ValueNode


class LoopNode(ForNode):
    """`{% for %}`: what it goes over must be there, and not be endless."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        over = self.expression.iterable.evaluate(context)
        if isinstance(over, Missing) and isinstance(buffer, Sink):
            buffer.miss(over)
        _check_size(over, MAX_VALUE)
        return super().render_to_output(context, buffer)


class Loop(Placed, tags.for_tag.ForTag):
    node_class = LoopNode


class If(Placed, tags.if_tag.IfTag):
    """`{% if %}`."""


class Unless(Placed, tags.unless_tag.UnlessTag):
    """`{% unless %}`."""


class Case(Placed, tags.case_tag.CaseTag):
    """`{% case %}`."""


class Assign(Placed, tags.assign_tag.AssignTag):
    """`{% assign %}`."""


TAGS = (
    content.Literal, illegal.Illegal, Value, If, Unless, Case, Loop, Assign, tags.for_tag.BreakTag,
    tags.for_tag.ContinueTag, tags.comment_tag.CommentTag, tags.inline_comment_tag.InlineCommentTag,
)  # fmt: skip
"""Every tag that templates have."""


class Language(liquid.Environment):
    """The tags and filters of a template, and no others."""

    block_nesting_limit = 30
    local_namespace_limit = 2_000_000
    suppress_blank_control_flow_blocks = False

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        """Register what there is."""
        for tag in TAGS:
            self.add_tag(tag)
        self.filters.update({**NUMBERS, **TEXTS})


LANGUAGE = Language()


def _check_size(value: object, limit: int) -> None:
    if isinstance(value, str | list | tuple | range | Mapping) and len(value) > limit:
        raise Beyond(f"a value is longer than {limit:,}")
    if isinstance(value, int | float) and abs(value) > MAX_NUMBER:
        raise Beyond(f"a number is larger than {MAX_NUMBER:,}")


def _check_number(value: object, name: str) -> None:
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError(f"{name} takes numbers, and {value[:40]!r} is none")
