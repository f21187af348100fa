"""From the tree of a document to the source of a Python function, and to the function.

Nothing of a request stands in the source but names and types that the schema has, written by `repr`: every value is a
constant that the function finds under a name of ours.

What is selection of objects without edges is written out as statements into the loop of the level above. Where edges
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
    generator = _CodeGenerator(checks, binder)
    names = {selected.key: generator.add_root_function(root.kind, selected) for selected in root.fields}
    source = "\n".join(generator.lines.lines)
    try:
        code = compile(source, "<document>", "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise NotCompilable(f"Python cannot compile it: {error}") from None
    exec(code, generator.constants)  # the module's docstring says what stands in it
    return CompiledFunctions({key: generator.constants[name] for key, name in names.items()}, source)


class _CodeGenerator:
    def __init__(self, checks: TypeChecks, binder: FieldArgumentBinder) -> None:
        self.lines = CodeBlock()
        self.constants: dict[str, Any] = {
            "__builtins__": {builtin.__name__: builtin for builtin in (iter, zip, str, int, float, bool)},
            "WireColumn": WireColumn,
            "FallbackRequired": FallbackRequired,
            "check_lengths": check_lengths,
            "as_list": as_list,
            "resolve_abstract": resolve_abstract,
            "gather_or_cancel": gather_or_cancel,
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

    def add_root_function(self, kind: GraphQLObjectType, selected: SelectedField) -> str:
        """The function of a root field."""
        name, body = self._new_name("root"), CodeBlock(1)
        is_payload = isinstance(selected.source, PayloadSource)
        match selected.source:
            case Operation():
                operation = self._add_constant("operation", selected.source)
                body.add(
                    f"x = await c.run_operation({selected.key!r}, {operation}, {self._arguments_expression(selected)})"
                )
            case TypenameSource():
                body.add(f"x = {kind.name!r}")
            case PayloadSource():
                pass
            case _:
                raise NotCompilable("a root field is no operation")
        if selected.has_nested_edges:
            body.add("R = [x]")
            self._resolve_nested_edges(body, selected)
            body.add("x = R[0]")
        elif selected.field is not None:
            self._write_value(body, "x", selected.field.type, selected)
        body.add("return x")
        keyword = "def" if is_payload and not selected.has_nested_edges else "async def"
        self._add_function(f"{keyword} {name}(c, v{', x' if is_payload else ''}):", body)
        return name

    def _add_edge_function(self, selected: SelectedField) -> str:
        """The function of a field whose objects have edges: its answers for a list of parents."""
        name, body = self._new_name("edge"), CodeBlock(1)
        if isinstance(selected.source, EdgeField):
            load = (
                f"c.load_all({self._add_constant('edge', selected.source)}, {self._arguments_expression(selected)}, P)"
            )
            body.add(f"R = check_lengths(await {load}, P)")
        else:
            body.add(f"R = [p.{_attribute_name(selected)} for p in P]")
        self._resolve_nested_edges(body, selected)
        body.add("return R")
        self._add_function(f"async def {name}(c, v, P):", body)
        return name

    def _resolve_nested_edges(self, body: CodeBlock, selected: SelectedField) -> None:
        """Replace the objects in the values R, which may be lists of lists, by what the level below makes of them."""
        kind = _field_type(selected)
        body.add("F = []")
        self._collect_objects(body.block("for r in R:"), "r", kind)
        body.add(f"D = await {self._level_call(selected)} if F else []")
        body.add("next_result = iter(D).__next__")
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
        return "next_result()"

    def _level_call(self, selected: SelectedField) -> str:
        """The call that makes answers of the objects F."""
        named = get_named_type(_field_type(selected))
        levels = {name: self._add_level_function(selection) for name, selection in selected.selections_by_type.items()}
        if not is_abstract_type(named):
            return f"{levels[named.name]}(c, v, F)"
        table = ", ".join(f"{name!r}: {level}" for name, level in levels.items())
        return f"resolve_abstract({{{table}}}, {self._add_type_resolver(named, selected)}, c, v, F)"

    def _add_level_function(self, selection: ObjectSelection) -> str:
        """The function of a level: dicts of objects of one type, whose edges are followed all at once."""
        name, body = self._new_name("level"), CodeBlock(1)
        edge_results = {selected.key: self._new_name("x") for selected in selection.fields if selected.has_edges}
        calls = []
        for selected in selection.fields:
            if selected.has_nested_edges:
                calls.append(f"{self._add_edge_function(selected)}(c, v, L)")
            elif selected.has_edges:  # binding arguments may fail, and no coroutine may be left that nobody awaits
                arguments = self._new_name("b")
                body.add(f"{arguments} = {self._arguments_expression(selected)}")
                calls.append(f"c.load_all({self._add_constant('edge', selected.source)}, {arguments}, L)")
        if len(calls) == 1:
            body.add(f"results = [await {calls[0]}]")
        elif calls:
            body.add(f"results = await gather_or_cancel({', '.join(calls)})")
        if calls:
            body.add("results = [check_lengths(values, L) for values in results]")
        body.add("D = []")
        loop = body.block(
            f"for o, {', '.join(edge_results.values())} in zip(L, *results):" if edge_results else "for o in L:"
        )
        self._write_object(loop, "o", selection, edge_results)
        loop.add("D.append(o)")
        body.add("return D")
        self._add_function(f"async def {name}(c, v, L):", body)
        return name

    # statements that replace a value by its answer

    def _write_object(
        self, lines: CodeBlock, var: str, selection: ObjectSelection, edge_results: Mapping[str, str]
    ) -> None:
        classes = self._checks.object_classes(selection.kind)
        known, check = self._add_constant("known", classes.known), self._add_constant("check", classes.check)
        lines.add(f"if {var}.__class__ not in {known}: {check}({var})")
        parts = []
        for selected in selection.fields:
            result = edge_results.get(selected.key) or self._new_name("a")
            parts.append(f"{selected.key!r}: {result}")
            if selected.field is None:
                lines.add(f"{result} = {selection.kind.name!r}")
                continue
            if not selected.has_edges:
                lines.add(f"{result} = {var}.{_attribute_name(selected)}")
            if not selected.has_nested_edges:
                self._write_value(lines, result, selected.field.type, selected)
        lines.add(f"{var} = {{{', '.join(parts)}}}")

    def _write_value(self, lines: CodeBlock, var: str, kind: GraphQLOutputType, selected: SelectedField) -> None:
        if isinstance(kind, GraphQLNonNull):
            inner = kind.of_type
        else:
            lines, inner = lines.block(f"if {var} is not None:"), kind
        if isinstance(inner, GraphQLList):
            self._write_list(lines, var, inner, selected)
        elif is_leaf_type(inner):
            self._write_leaf(lines, var, inner)
        elif is_abstract_type(inner):
            self._write_abstract(lines, var, inner, selected)
        else:
            self._write_object(lines, var, selected.selections_by_type[inner.name], {})

    def _write_list(self, lines: CodeBlock, var: str, kind: GraphQLList[Any], selected: SelectedField) -> None:
        if not selected.selections_by_type:
            lines = lines.block(f"if {var}.__class__ is not WireColumn:")  # whose items are answers already
        results, item = self._new_name("l"), self._new_name("i")
        lines.add(f"{results} = []")
        loop = lines.block(f"for {item} in as_list({var}):")
        self._write_value(loop, item, kind.of_type, selected)
        loop.add(f"{results}.append({item})")
        lines.add(f"{var} = {results}")

    def _write_abstract(self, lines: CodeBlock, var: str, kind: GraphQLAbstractType, selected: SelectedField) -> None:
        name, keyword = self._new_name("t"), "if"
        lines.add(f"{name} = {self._add_type_resolver(kind, selected)}({var})")
        for type_name, selection in selected.selections_by_type.items():
            self._write_object(lines.block(f"{keyword} {name} == {type_name!r}:"), var, selection, {})
            keyword = "elif"
        lines.block("else:").add(f"raise FallbackRequired({name})")

    def _write_leaf(self, lines: CodeBlock, var: str, kind: GraphQLLeafType) -> None:
        coercion = self._add_constant("leaf", self._checks.leaf_coercion(kind))
        names = enum_names(kind) if isinstance(kind, GraphQLEnumType) else None
        if names is not None:
            members, table = self._add_constant("enum", names[0]), self._add_constant("names", names[1])
            lines.add(f"{var} = {table}[{var}._name_] if {var}.__class__ is {members} else {coercion}({var})")
        elif specified_scalar_types.get(kind.name) is kind:
            lines.add(f"if {NEEDS_COERCION[kind.name].format(var)}: {var} = {coercion}({var})")
        elif kind.coerce_output_value in FAST_SERIALIZERS:
            serializer = self._add_constant("quick", kind.coerce_output_value)
            classes = self._add_constant("classes", FAST_SERIALIZERS[kind.coerce_output_value])
            lines.add(f"{var} = {serializer}({var}) if {var}.__class__ in {classes} else {coercion}({var})")
        else:
            lines.add(f"{var} = {coercion}({var})")

    # constants

    def _arguments_expression(self, selected: SelectedField) -> str:
        assert selected.field is not None  # __typename has no arguments
        arguments = self._argument_binder.bind(selected.field, selected.nodes[0].node)
        return (
            f"{self._add_constant('bind', arguments)}(v)"
            if callable(arguments)
            else self._add_constant("arguments", arguments)
        )

    def _add_type_resolver(self, kind: GraphQLAbstractType, selected: SelectedField) -> str:
        name = selected.nodes[0].node.name.value
        return self._add_constant("member", MemberTypeResolver(self._checks.schema, kind, name).type_name)


def _field_type(selected: SelectedField) -> GraphQLOutputType:
    assert selected.field is not None  # __typename is a leaf
    return selected.field.type


def _attribute_name(selected: SelectedField) -> str:
    assert isinstance(selected.source, AttributeSource)  # an operation stands at the root alone
    return selected.source.name
