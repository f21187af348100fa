"""Code generator of the compiled engine: turn the selection tree of a document into Python functions.

The idea: graphql-core completes a response object by object and field by field. A plan handles a whole level of the
response at once: it calls each edge once for all parents and writes the fields of each object as straight-line code.
`selection_tree.py` builds the tree, this module writes and compiles the source, `engine.py` runs the functions.

For `{ resource(resourceId: $id) { name type { name } } }` the source is, shortened:

    async def level_5(c, v, L):                         # L: resources
        results = [await c.load_all(edge_9, arguments_8, L, node_10)]
        results = [check_lengths(values, L) for values in results]
        D = []
        for o, x_6 in zip(L, *results):                 # o: a resource, x_6: its type
            ...                                         # check the classes and values of both
            o = {'name': a_12, 'type': x_6}
            D.append(o)
        return D
    async def root_1(c, v):
        x = await c.run_operation('resource', operation_2, arguments_3, node_5, selected_4)
        R, F = [x], [...]                               # F: the objects in R
        D = await level_5(c, v, F) if F else []
        ...                                             # replace each object in R by its dict in D

There are three kinds of functions, with `c` for the GraphQLContext and `v` for the variables:

    root(c, v) or root(c, v, x)   the value of a root field; x is the payload of a subscription. A subscription without
                                  edges has a plain function, all others are coroutines.
    level(c, v, L)                the dicts of the objects L of one type. It follows all edges of the type concurrently.
    edge(c, v, P)                 the values of a field for the parents P, if the objects of the field have edges too.

Objects without edges need no function: their code is part of the loop over the level above.

Invariants:
- Order: a loader returns one result for each parent, in order (`check_lengths`). D has one dict for each object of F,
  in order, so that R is rebuilt with one iterator over D.
- Equal or fallback: a plan returns exactly the data of graphql-core or raises. It reports no errors itself: for a value
  that does not match its type it raises FallbackRequired, and the engine lets graphql-core execute the field.
- No injection: the source contains response keys and schema names, both written by `repr`, and attribute names that
  `field_source.py` has checked. All values are constants, found under generated names.
- No orphans: arguments are bound before the first coroutine of a level is created, because binding may raise.

See `values.py` for the functions that the source calls. `tests/graphql/compiled/` compares plans with graphql-core.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

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

from wattgate.db.column_types import SerializedColumn, SerializedRows
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
    in_parts,
    is_expensive,
    resolve_abstract,
    serialized_columns,
)
from wattgate.operations.core.fields import AttributeSource, NotCompilable, PayloadSource, TypenameSource
from wattgate.operations.core.operation import Operation
from wattgate.operations.vocabulary.node import EdgeField, encode_global_id
from wattgate.operations.vocabulary.scalars import FAST_SERIALIZERS, INLINE_SERIALIZERS
from wattgate.pauses import PAUSE_ITEMS, is_pause_due, pause

# Lists of objects of which a document selects only attributes, so that columns are enough.


class LeafAttribute(NamedTuple):
    """An attribute of rows that may have columns, and the name of its leaf type."""

    attribute: str
    scalar: str


def leaf_attributes(selected: SelectedField) -> dict[str, LeafAttribute] | None:
    """Return the attributes that the objects of a list have in the response; None if others need more than columns."""
    if len(selected.selections_by_type) != 1:
        return None
    (selection,) = selected.selections_by_type.values()
    if selected.field is None or is_abstract_type(get_named_type(selected.field.type)):
        return None
    leaves = {}
    for inner in selection.fields:
        if not isinstance(inner.source, AttributeSource) or inner.source.node_type is not None or inner.field is None:
            return None
        if not is_leaf_type(get_named_type(inner.field.type)):
            return None
        leaves[inner.key] = LeafAttribute(inner.source.name, get_named_type(inner.field.type).name)
    return leaves or None


def columns_call(var: str, leaves: Mapping[str, LeafAttribute]) -> str:
    """Return the expression that reads the columns of the rows in a variable. See `serialized_columns`."""
    attributes = tuple(leaf.attribute for leaf in leaves.values())
    floats, integers = (
        tuple(position for position, leaf in enumerate(leaves.values()) if leaf.scalar == scalar)
        for scalar in ("Float", "Int")
    )
    return f"serialized_columns({var}, {attributes!r}, {floats!r}, {integers!r})"


@dataclass(slots=True)
class CodeBlock:
    """Statements of a function, at one level of indentation."""

    depth: int = 0
    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def block(self, text: str) -> "CodeBlock":
        """Add a statement and return the block that it opens."""
        self.add(text)
        return CodeBlock(self.depth + 1, self.lines)


# Code generator of the compiled engine: turn the selection tree of a document into Python functions.


NEEDS_COERCION = {
    "String": "{0}.__class__ is not str",
    "ID": "{0}.__class__ is not str",
    "Boolean": "{0}.__class__ is not bool",
    "Float": "{0}.__class__ is not float or {0} - {0} != 0.0",  # JSON has no NaN and no infinities
    "Int": "{0}.__class__ is not int or not -2147483648 <= {0} <= 2147483647",
}
"""For each built-in scalar, the condition on a value that needs coercion. Other values are used as they are."""

RootFunction = Callable[..., Any]
"""Computes the value of one response key: (context, variables) or, for a subscription, (context, variables, payload).

It is a coroutine function unless it belongs to a subscription without edges.
"""


@dataclass(frozen=True, slots=True)
class CompiledFunctions:
    """The function of each root field by response key, and the source of all."""

    roots: dict[str, RootFunction]
    source: str


class TypeChecks:
    """The checks of a schema's types that all documents share: classes of rows, and coercion of leaves."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.schema = schema
        self._classes: dict[str, KnownClasses] = {}
        self._leaves: dict[str, CoerceLeaf] = {}

    def leaf_coercion(self, kind: GraphQLLeafType) -> CoerceLeaf:
        """Return the coercion that is correct for every value of a leaf type, but slow."""
        return self._leaves.setdefault(kind.name, checked_coercion(kind.coerce_output_value))

    def object_classes(self, kind: GraphQLObjectType) -> KnownClasses:
        """Return the known classes of an object type."""
        return self._classes.setdefault(kind.name, KnownClasses(self.schema, kind))


def generate_functions(root: ObjectSelection, checks: TypeChecks, binder: FieldArgumentBinder) -> CompiledFunctions:
    """Return the functions of a document. Raise NotCompilable if Python cannot compile them."""
    generator = _CodeGenerator(checks, binder)
    names = {selected.key: generator.add_root_function(root.kind, selected) for selected in root.fields}
    source = "\n".join(generator.lines.lines)
    try:
        code = compile(source, "<document>", "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise NotCompilable(f"Python cannot compile it: {error}") from None
    exec(code, generator.constants)  # noqa: S102 (see the invariants in the module's docstring)
    return CompiledFunctions({key: generator.constants[name] for key, name in names.items()}, source)


class _CodeGenerator:
    def __init__(self, checks: TypeChecks, binder: FieldArgumentBinder) -> None:
        self.lines = CodeBlock()
        self.constants: dict[str, Any] = {
            "__builtins__": {builtin.__name__: builtin for builtin in (iter, len, zip, str, int, float, bool)},
            **{constant.__name__: constant for constant in (SerializedColumn, SerializedRows, FallbackRequired)},
            **{function.__name__: function for function in (as_list, check_lengths, gather_or_cancel, in_parts)},
            **{function.__name__: function for function in (is_expensive, is_pause_due, pause)},
            **{function.__name__: function for function in (resolve_abstract, serialized_columns)},
            "global_id": encode_global_id,
        }
        self._checks = checks
        self._argument_binder = binder
        self._name_counter = count(1)
        self._can_await = True

    def _new_name(self, kind: str) -> str:
        return f"{kind}_{next(self._name_counter)}"

    def _add_constant(self, kind: str, value: Any) -> str:
        name = self._new_name(kind)
        self.constants[name] = value
        return name

    def _add_function(self, head: str, body: CodeBlock) -> None:
        """Add a function after those that it calls."""
        self.lines.add(head)
        self.lines.lines.extend(body.lines)

    # functions: of root fields, of edges with edges below, of levels

    def add_root_function(self, kind: GraphQLObjectType, selected: SelectedField) -> str:
        """Add the function of a root field and return its name."""
        name, body = self._new_name("root"), CodeBlock(1)
        is_payload = isinstance(selected.source, PayloadSource)
        self._can_await = not is_payload or selected.has_nested_edges
        match selected.source:
            case Operation():
                operation = self._add_constant("operation", selected.source)
                call = f"{selected.key!r}, {operation}, {self._arguments_expression(selected)}"
                names = self._add_constant("selected", selected.names_below())
                body.add(f"x = await c.run_operation({call}, {self._node_id(selected)}, {names})")
            case TypenameSource():
                body.add(f"x = {kind.name!r}")
            case PayloadSource():
                pass
            case _:
                raise NotCompilable("a root field is not an operation")
        if selected.has_nested_edges:
            body.add("R = [x]")
            self._resolve_nested_edges(body, selected)
            body.add("x = R[0]")
        elif selected.field is not None:
            self._write_value(body, "x", selected.field.type, selected)
        body.add("return x")
        keyword = "async def" if self._can_await else "def"
        self._add_function(f"{keyword} {name}(c, v{', x' if is_payload else ''}):", body)
        return name

    def _add_edge_function(self, selected: SelectedField) -> str:
        """Add the function of a field whose objects have edges, and return its name."""
        name, body = self._new_name("edge"), CodeBlock(1)
        if isinstance(selected.source, EdgeField):
            load = self._load_expression(selected, self._arguments_expression(selected), "P")
            body.add(f"R = check_lengths(await {load}, P)")
        else:
            body.add(f"R = [{_attribute_expression(selected, 'p')} for p in P]")
        self._resolve_nested_edges(body, selected)
        body.add("return R")
        self._add_function(f"async def {name}(c, v, P):", body)
        return name

    def _resolve_nested_edges(self, body: CodeBlock, selected: SelectedField) -> None:
        """Write code that replaces the objects in R, which may be in nested lists, by their dicts."""
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
        """Return the expression that computes the dicts of the objects F."""
        named = get_named_type(_field_type(selected))
        levels = {name: self._add_level_function(selection) for name, selection in selected.selections_by_type.items()}
        if not is_abstract_type(named):
            return f"{levels[named.name]}(c, v, F)"
        table = ", ".join(f"{name!r}: {level}" for name, level in levels.items())
        return f"resolve_abstract({{{table}}}, {self._add_type_resolver(named, selected)}, c, v, F)"

    def _add_level_function(self, selection: ObjectSelection) -> str:
        """Add the function of a level, and return its name."""
        name, body = self._new_name("level"), CodeBlock(1)
        edge_results = {selected.key: self._new_name("x") for selected in selection.fields if selected.has_edges}
        calls = []
        for selected in selection.fields:
            if selected.has_nested_edges:
                calls.append(f"{self._add_edge_function(selected)}(c, v, L)")
            elif selected.has_edges:
                # Bound before the calls: binding may raise, and would leave coroutines that nothing awaits.
                arguments = self._new_name("b")
                body.add(f"{arguments} = {self._arguments_expression(selected)}")
                calls.append(self._load_expression(selected, arguments, "L"))
        if len(calls) == 1:
            body.add(f"results = [await {calls[0]}]")
        elif calls:
            body.add(f"results = await gather_or_cancel({', '.join(calls)})")
        if calls:
            body.add("results = [check_lengths(values, L) for values in results]")
        body.add("D = []")
        if edge_results:
            body.add("expensive = is_expensive(c)")
        loop = body.block(
            f"for o, {', '.join(edge_results.values())} in zip(L, *results):" if edge_results else "for o in L:"
        )
        self._write_object(loop, "o", selection, edge_results)
        loop.add("D.append(o)")
        loop.add(f"if not len(D) % {PAUSE_ITEMS}: await pause()")
        body.add("return D")
        self._add_function(f"async def {name}(c, v, L):", body)
        return name

    # statements that replace a value by its result

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
                lines.add(f"{result} = {_attribute_expression(selected, var)}")
            if not selected.has_nested_edges:
                self._write_value(lines, result, selected.field.type, selected)
                if selected.has_edges and selected.selections_by_type:
                    lines.add("if expensive and is_pause_due(): await pause()")
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
            # the items of a column are results already
            lines = lines.block(f"if {var}.__class__ is not SerializedColumn:")
        elif (leaves := leaf_attributes(selected)) is not None:
            lines = self._write_columns(lines, var, leaves)
        results, item = self._new_name("l"), self._new_name("i")
        lines.add(f"{results} = []")
        outer, items = lines, f"as_list({var})"
        if selected.selections_by_type and self._can_await:
            items = self._new_name("p")
            outer = lines.block(f"for {items} in in_parts(as_list({var})):")
            outer.add(f"if {results}: await pause()")
        loop = outer.block(f"for {item} in {items}:")
        self._write_value(loop, item, kind.of_type, selected)
        loop.add(f"{results}.append({item})")
        lines.add(f"{var} = {results}")

    def _write_columns(self, lines: CodeBlock, var: str, leaves: Mapping[str, LeafAttribute]) -> CodeBlock:
        """Write code that builds the dicts of rows from their columns. Return the block for other rows."""
        columns, names = self._new_name("q"), {key: self._new_name("a") for key in leaves}
        lines.add(f"{columns} = {columns_call(var, leaves)} if {var}.__class__ is SerializedRows else None")
        parts = ", ".join(f"{key!r}: {name}" for key, name in names.items())
        row = ", ".join(names.values())
        lines.block(f"if {columns} is not None:").add(f"{var} = [{{{parts}}} for {row}, in zip(*{columns})]")
        return lines.block("else:")

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
            classes = self._add_constant("classes", FAST_SERIALIZERS[kind.coerce_output_value])
            call = self._serializer_expression(kind.coerce_output_value, var)
            lines.add(f"{var} = {call} if {var}.__class__ in {classes} else {coercion}({var})")
        else:
            lines.add(f"{var} = {coercion}({var})")

    def _serializer_expression(self, serializer: Any, var: str) -> str:
        """Return the expression that serializes a variable of a known class."""
        if inline := INLINE_SERIALIZERS.get(serializer):
            return inline.format(var)
        return f"{self._add_constant('quick', serializer)}({var})"

    def _load_expression(self, selected: SelectedField, arguments: str, parents: str) -> str:
        assert isinstance(selected.source, EdgeField)
        edge = self._add_constant("edge", selected.source.for_selection(selected.names_below()))
        return f"c.load_all({edge}, {arguments}, {parents}, {self._node_id(selected)})"

    # constants

    def _node_id(self, selected: SelectedField) -> str:
        """Return the identity of the field's first node, under which its cost is known."""
        return self._add_constant("node", id(selected.nodes[0].node))

    def _arguments_expression(self, selected: SelectedField) -> str:
        assert selected.field is not None  # __typename has no arguments
        arguments = self._argument_binder.bind(selected.field, selected.nodes[0].node)
        if callable(arguments):
            return f"{self._add_constant('bind', arguments)}(v)"
        return self._add_constant("arguments", arguments)

    def _add_type_resolver(self, kind: GraphQLAbstractType, selected: SelectedField) -> str:
        name = selected.nodes[0].node.name.value
        return self._add_constant("member", MemberTypeResolver(self._checks.schema, kind, name).type_name)


def _field_type(selected: SelectedField) -> GraphQLOutputType:
    assert selected.field is not None  # __typename is a leaf
    return selected.field.type


def _attribute_expression(selected: SelectedField, var: str) -> str:
    source: Any = selected.source  # an AttributeSource: edges and operations are handled before
    attribute = f"{var}.{source.name}"
    return attribute if source.node_type is None else f"global_id({source.node_type!r}, {attribute})"
