"""From the tree of a document to the source of a Python function, and to the function.

Nothing of a request stands in the source but names and types that the schema has, written by `repr`: every value is a
constant that the function finds under a name of ours.

What is selected of objects without edges is written out as statements into the loop of the level above. Where edges
have to be followed there is an `async` function for the level: it takes a list of objects, calls each edge once for
all of them, and gives a list of dicts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from graphql import (
    GraphQLAbstractType,
    GraphQLEnumType,
    GraphQLLeafType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
    specified_scalar_types,
)

from wattgate.db.wire_column import WireColumn
from wattgate.graphql.core.edge import EdgeField
from wattgate.graphql.core.field_source import AttributeSource, NotCompilable, PayloadSource, TypenameSource
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.scalars import FAST_SERIALIZERS
from wattgate.graphql.execution.compiled.arguments import FieldArgumentBinder
from wattgate.graphql.execution.compiled.selection_tree import ObjectSelection, SelectedField
from wattgate.graphql.execution.compiled.values import (
    CoerceLeaf,
    FallbackRequired,
    KnownClasses,
    MemberTypeResolver,
    as_list,
    check_lengths,
    checked_coercion,
    enum_names,
    gather_or_cancel,
    resolve_abstract,
)

NEEDS_COERCION = {
    "String": "{0}.__class__ is not str",
    "ID": "{0}.__class__ is not str",
    "Boolean": "{0}.__class__ is not bool",
    "Float": "{0}.__class__ is not float or {0} - {0} != 0.0",  # NaN and the infinities are not told in JSON
    "Int": "{0}.__class__ is not int or not -2147483648 <= {0} <= 2147483647",
}
"""When a value of a built-in scalar is not told as it is, as a condition on the value."""

RootFunction = Callable[..., Any]
"""Makes what stands under one key of the answer: (caller, variables) or, of a subscription, (caller, variables, event).
The function of a subscription that follows no edges is none of a coroutine."""


@dataclass(frozen=True, slots=True)
class CompiledFunctions:
    """A function for each root field, with their source."""

    roots: dict[str, RootFunction]
    source: str


@dataclass(slots=True)
class CodeBlock:
    """Statements of a function."""

    depth: int = 0
    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def block(self, text: str) -> "CodeBlock":
        """The block that a statement opens."""
        self.add(text)
        return CodeBlock(self.depth + 1, self.lines)


class TypeChecks:
    """What is known of a schema's types whatever is asked: classes of rows, and how leaves are told."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.schema = schema
        self._classes: dict[str, KnownClasses] = {}
        self._leaves: dict[str, CoerceLeaf] = {}

    def leaf_coercion(self, kind: GraphQLLeafType) -> CoerceLeaf:
        """The slow way of a leaf, which is right for every value."""
        return self._leaves.setdefault(kind.name, checked_coercion(kind.coerce_output_value))

    def object_classes(self, kind: GraphQLObjectType) -> KnownClasses:
        """The classes of an object type, which all documents share."""
        return self._classes.setdefault(kind.name, KnownClasses(self.schema, kind))


def generate_functions(root: ObjectSelection, checks: TypeChecks, binder: FieldArgumentBinder) -> CompiledFunctions:
    """The functions of a document. Refused where it would be more than Python can compile."""
    writer = _CodeGenerator(checks, binder)
    names = {slot.key: writer.add_root_function(root.kind, slot) for slot in root.fields}
    source = "\n".join(writer.lines.lines)
    try:
        code = compile(source, "<document>", "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise NotCompilable(f"Python cannot compile it: {error}") from None
    exec(code, writer.constants)  # the module's docstring says what stands in it
    return CompiledFunctions({key: writer.constants[name] for key, name in names.items()}, source)


class _CodeGenerator:
    def __init__(self, checks: TypeChecks, binder: FieldArgumentBinder) -> None:
        self.lines = CodeBlock()
        self.constants: dict[str, Any] = {
            "__builtins__": {one.__name__: one for one in (iter, zip, str, int, float, bool)},
            "Column": WireColumn,
            "Fault": FallbackRequired,
            "aligned": check_lengths,
            "as_list": as_list,
            "mixed": resolve_abstract,
            "together": gather_or_cancel,
        }
        self._checks = checks
        self._argument_binder = binder
        self._name_counter = count(1)

    def _new_name(self, kind: str) -> str:
        return f"{kind}_{next(self._name_counter)}"

    def _add_constant(self, kind: str, value: Any) -> str:
        name = self._new_name(kind)
        self.constants[name] = value
        return name

    def _add_function(self, head: str, body: CodeBlock) -> None:
        """Add a function, after those that it has made necessary."""
        self.lines.add(head)
        self.lines.lines.extend(body.lines)

    # functions: of root fields, of edges with edges below, of levels

    def add_root_function(self, kind: GraphQLObjectType, slot: SelectedField) -> str:
        """The function of a root field."""
        name, body = self._new_name("root"), CodeBlock(1)
        told = isinstance(slot.source, PayloadSource)
        match slot.source:
            case Operation():
                operation = self._add_constant("operation", slot.source)
                body.add(f"x = await c.run_operation({slot.key!r}, {operation}, {self._arguments_expression(slot)})")
            case TypenameSource():
                body.add(f"x = {kind.name!r}")
            case PayloadSource():
                pass
            case _:
                raise NotCompilable("a root field is no operation")
        if slot.has_nested_edges:
            body.add("R = [x]")
            self._resolve_nested_edges(body, slot)
            body.add("x = R[0]")
        elif slot.field is not None:
            self._write_value(body, "x", slot.field.type, slot)
        body.add("return x")
        word = "def" if told and not slot.has_nested_edges else "async def"
        self._add_function(f"{word} {name}(c, v{', x' if told else ''}):", body)
        return name

    def _add_edge_function(self, slot: SelectedField) -> str:
        """The function of a field whose objects have edges: its answers for a list of parents."""
        name, body = self._new_name("edge"), CodeBlock(1)
        if isinstance(slot.source, EdgeField):
            load = f"c.load_all({self._add_constant('edge', slot.source)}, {self._arguments_expression(slot)}, P)"
            body.add(f"R = aligned(await {load}, P)")
        else:
            body.add(f"R = [p.{_attribute_name(slot)} for p in P]")
        self._resolve_nested_edges(body, slot)
        body.add("return R")
        self._add_function(f"async def {name}(c, v, P):", body)
        return name

    def _resolve_nested_edges(self, body: CodeBlock, slot: SelectedField) -> None:
        """Replace the objects in the values R, which may be lists of lists, by what the level below makes of them."""
        kind = _field_type(slot)
        body.add("F = []")
        self._collect_objects(body.block("for r in R:"), "r", kind)
        body.add(f"D = await {self._level_call(slot)} if F else []")
        body.add("following = iter(D).__next__")
        body.add(f"R = [{self._rebuild_expression('r', kind)} for r in R]")

    def _collect_objects(self, lines: CodeBlock, var: str, kind: GraphQLOutputType) -> None:
        if isinstance(kind, GraphQLNonNull):
            inner = kind.of_type
        else:
            lines, inner = lines.block(f"if {var} is not None:"), kind
        if isinstance(inner, GraphQLList):
            item = self._new_name("i")
            self._collect_objects(lines.block(f"for {item} in as_list({var}):"), item, inner.of_type)
        else:
            lines.add(f"F.append({var})")

    def _rebuild_expression(self, var: str, kind: GraphQLOutputType) -> str:
        if not isinstance(kind, GraphQLNonNull):
            return f"None if {var} is None else {self._rebuild_expression(var, GraphQLNonNull(kind))}"
        if isinstance(kind.of_type, GraphQLList):
            item = self._new_name("i")
            return f"[{self._rebuild_expression(item, kind.of_type.of_type)} for {item} in {var}]"
        return "following()"

    def _level_call(self, slot: SelectedField) -> str:
        """The call that makes answers of the objects F."""
        named = get_named_type(_field_type(slot))
        levels = {name: self._add_level_function(one) for name, one in slot.selections_by_type.items()}
        if not is_abstract_type(named):
            return f"{levels[named.name]}(c, v, F)"
        table = ", ".join(f"{name!r}: {level}" for name, level in levels.items())
        return f"mixed({{{table}}}, {self._add_type_resolver(named, slot)}, c, v, F)"

    def _add_level_function(self, selected: ObjectSelection) -> str:
        """The function of a level: dicts of objects of one type, whose edges are followed all at once."""
        name, body = self._new_name("level"), CodeBlock(1)
        ready = {slot.key: self._new_name("x") for slot in selected.fields if slot.has_edges}
        calls = []
        for slot in selected.fields:
            if slot.has_nested_edges:
                calls.append(f"{self._add_edge_function(slot)}(c, v, L)")
            elif slot.has_edges:  # binding arguments may fail, and no coroutine may be left that nobody awaits
                bound = self._new_name("b")
                body.add(f"{bound} = {self._arguments_expression(slot)}")
                calls.append(f"c.load_all({self._add_constant('edge', slot.source)}, {bound}, L)")
        if len(calls) == 1:
            body.add(f"found = [await {calls[0]}]")
        elif calls:
            body.add(f"found = await together({', '.join(calls)})")
        if calls:
            body.add("found = [aligned(one, L) for one in found]")
        body.add("D = []")
        loop = body.block(f"for o, {', '.join(ready.values())} in zip(L, *found):" if ready else "for o in L:")
        self._write_object(loop, "o", selected, ready)
        loop.add("D.append(o)")
        body.add("return D")
        self._add_function(f"async def {name}(c, v, L):", body)
        return name

    # statements that replace a value by its answer

    def _write_object(self, lines: CodeBlock, var: str, selected: ObjectSelection, ready: Mapping[str, str]) -> None:
        classes = self._checks.object_classes(selected.kind)
        known, check = self._add_constant("known", classes.known), self._add_constant("check", classes.check)
        lines.add(f"if {var}.__class__ not in {known}: {check}({var})")
        parts = []
        for slot in selected.fields:
            told = ready.get(slot.key) or self._new_name("a")
            parts.append(f"{slot.key!r}: {told}")
            if slot.field is None:
                lines.add(f"{told} = {selected.kind.name!r}")
                continue
            if not slot.has_edges:
                lines.add(f"{told} = {var}.{_attribute_name(slot)}")
            if not slot.has_nested_edges:
                self._write_value(lines, told, slot.field.type, slot)
        lines.add(f"{var} = {{{', '.join(parts)}}}")

    def _write_value(self, lines: CodeBlock, var: str, kind: GraphQLOutputType, slot: SelectedField) -> None:
        if isinstance(kind, GraphQLNonNull):
            inner = kind.of_type
        else:
            lines, inner = lines.block(f"if {var} is not None:"), kind
        if isinstance(inner, GraphQLList):
            self._write_list(lines, var, inner, slot)
        elif is_leaf_type(inner):
            self._write_leaf(lines, var, inner)
        elif is_abstract_type(inner):
            self._write_abstract(lines, var, inner, slot)
        else:
            self._write_object(lines, var, slot.selections_by_type[inner.name], {})

    def _write_list(self, lines: CodeBlock, var: str, kind: GraphQLList[Any], slot: SelectedField) -> None:
        if not slot.selections_by_type:
            lines = lines.block(f"if {var}.__class__ is not Column:")  # whose items are answers already
        made, item = self._new_name("l"), self._new_name("i")
        lines.add(f"{made} = []")
        loop = lines.block(f"for {item} in as_list({var}):")
        self._write_value(loop, item, kind.of_type, slot)
        loop.add(f"{made}.append({item})")
        lines.add(f"{var} = {made}")

    def _write_abstract(self, lines: CodeBlock, var: str, kind: GraphQLAbstractType, slot: SelectedField) -> None:
        name, word = self._new_name("t"), "if"
        lines.add(f"{name} = {self._add_type_resolver(kind, slot)}({var})")
        for one, selected in slot.selections_by_type.items():
            self._write_object(lines.block(f"{word} {name} == {one!r}:"), var, selected, {})
            word = "elif"
        lines.block("else:").add(f"raise Fault({name})")

    def _write_leaf(self, lines: CodeBlock, var: str, kind: GraphQLLeafType) -> None:
        slow = self._add_constant("leaf", self._checks.leaf_coercion(kind))
        names = enum_names(kind) if isinstance(kind, GraphQLEnumType) else None
        if names is not None:
            members, table = self._add_constant("enum", names[0]), self._add_constant("names", names[1])
            lines.add(f"{var} = {table}[{var}._name_] if {var}.__class__ is {members} else {slow}({var})")
        elif specified_scalar_types.get(kind.name) is kind:
            lines.add(f"if {NEEDS_COERCION[kind.name].format(var)}: {var} = {slow}({var})")
        elif kind.coerce_output_value in FAST_SERIALIZERS:
            quick = self._add_constant("quick", kind.coerce_output_value)
            classes = self._add_constant("classes", FAST_SERIALIZERS[kind.coerce_output_value])
            lines.add(f"{var} = {quick}({var}) if {var}.__class__ in {classes} else {slow}({var})")
        else:
            lines.add(f"{var} = {slow}({var})")

    # constants

    def _arguments_expression(self, slot: SelectedField) -> str:
        assert slot.field is not None  # __typename has no arguments
        bound = self._argument_binder.bind(slot.field, slot.nodes[0].node)
        return f"{self._add_constant('bind', bound)}(v)" if callable(bound) else self._add_constant("arguments", bound)

    def _add_type_resolver(self, kind: GraphQLAbstractType, slot: SelectedField) -> str:
        name = slot.nodes[0].node.name.value
        return self._add_constant("member", MemberTypeResolver(self._checks.schema, kind, name).type_name)


def _field_type(slot: SelectedField) -> GraphQLOutputType:
    assert slot.field is not None  # __typename is a leaf
    return slot.field.type


def _attribute_name(slot: SelectedField) -> str:
    assert isinstance(slot.source, AttributeSource)  # an operation stands at the root alone
    return slot.source.name
