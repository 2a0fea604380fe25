"""Mutation operators: small edits of a Python function or a template, from its syntax tree.

Each operator yields edits: the span of the source, and its replacement. Inside f-strings only SQL is changed:
Python before 3.12 has no positions of an f-string's expressions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """The bytes from `start` to `end` of a file become `new`."""

    operator: str
    start: int
    end: int
    new: str


class Source:
    """A file's bytes, and the positions of the nodes of its syntax tree."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._lines = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.expr | ast.stmt) -> str:
        return self.text[self.start(node) : self.end(node)].decode()

    def line(self, offset: int) -> int:
        """Return the line of a byte, counted from 1."""
        return self.text.count(b"\n", 0, offset) + 1

    def replaced(self, operator: str, node: ast.expr | ast.stmt, new: str) -> Edit:
        return Edit(operator, self.start(node), self.end(node), new)


Operator = Callable[[ast.AST, Source], Iterator[Edit]]

FLIPPED = {
    ast.Lt: ">",
    ast.Gt: "<",
    ast.LtE: ">=",
    ast.GtE: "<=",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
WIDENED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
#: Numbers without effect on results.
TUNING = {"timeout", "maxsize", "max_length", "indent", "stacklevel", "dpi", "digest_size"}
LOCKS = re.compile(r"\b(writing|atomic|_turn|alone|_alone|locked_folder|\w*lock\w*)\b")
SQL = re.compile(r"\b(SELECT|UPDATE|DELETE|INSERT|WHERE|JOIN|ORDER BY|FOR NO KEY)\b")
SQL_LOCK = re.compile(r"\bFOR (NO KEY )?UPDATE( OF [\w, {}.()'\"]+?)?( SKIP LOCKED)?(?=[\"'\s)]|$)")
CONDITION = re.compile(r"\b(WHERE|AND)\s+")
CONDITION_ENDS = re.compile(
    r"\b(AND|OR|ORDER|GROUP|LIMIT|RETURNING|FOR|UNION|ON|HAVING|THEN|WHERE|LEFT|JOIN|WINDOW)\b|[()]|\"\"\"|$"
)
PERMISSIONS = re.compile(r"(for_roles|login_required|permission|csrf_protect|_only$)")
DENIALS = re.compile(
    r"\b(PermissionDenied|Http404|Problem|_signed_out|FORBIDDEN|UNAUTHORIZED)\b|status=40[134]"
)
ESCAPES = re.compile(r"(^|_)(escape|escaped|quote|quoted|urlencode|conditional_escape|neutral|plain_cell)$")


def off_by_one(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Yield a number plus one, or a bound with one value more or less."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield source.replaced("off by one", node, str(node.value + 1))
    if isinstance(node, ast.Compare):
        yield from _comparison("off by one", node, source, WIDENED)


def flipped_comparison(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        yield from _comparison("flipped comparison", node, source, FLIPPED)


def dropped_lock(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Yield queries without locking, and blocks without their lock or transaction."""
    name = "dropped lock"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "select_for_update":
            yield Edit(name, source.end(node.func.value), source.end(node), "")
        if node.func.attr == "flock":
            yield source.replaced(name, node, "None")
    if isinstance(node, ast.With):
        for item in node.items:
            held = item.context_expr
            if item.optional_vars is None and LOCKS.search(source.of(held)):
                yield source.replaced(name, held, "__import__('contextlib').nullcontext()")
    for start, text in _sql(node, source):
        for match in SQL_LOCK.finditer(text):
            at = start + len(text[: match.start()].encode())
            yield Edit(name, at, at + len(match.group().encode()), "")


def dropped_condition(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Yield queries and comprehensions without one condition."""
    name = "dropped WHERE"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("filter", "exclude"):
            for index in range(len(node.args) + len(node.keywords)):
                yield _without(name, index, node, source)
    if isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield source.replaced(name, test, "True")
    for start, text in _sql(node, source):
        for match in CONDITION.finditer(text):
            condition = _condition(text, match.end())
            if condition and "BETWEEN" not in condition:
                at = start + len(text[: match.end()].encode())
                yield Edit(name, at, at + len(condition.encode()), f"({condition} OR 1 = 1)")


def swapped_direction(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Yield reversals: order, sign, first and last, two arguments."""
    name = "swapped direction"
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "reverse" and isinstance(keyword.value, ast.Constant):
                yield source.replaced(name, keyword.value, str(not keyword.value.value))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "order_by":
            for field in node.args:
                if isinstance(field, ast.Constant) and isinstance(field.value, str):
                    reversed_field = field.value[1:] if field.value.startswith("-") else f"-{field.value}"
                    yield source.replaced(name, field, f'"{reversed_field}"')
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
            yield source.replaced(name, node.func, "max" if node.func.id == "min" else "min")
        if len(node.args) == 2 and all(isinstance(argument, ast.Name) for argument in node.args):
            first, second = map(source.of, node.args)
            if first != second and _called(node) not in ("isinstance", "getattr", "hasattr", "issubclass"):
                yield Edit(name, source.start(node.args[0]), source.end(node.args[1]), f"{second}, {first}")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        if isinstance(node.left, ast.Name | ast.Attribute) and isinstance(
            node.right, ast.Name | ast.Attribute
        ):
            yield source.replaced(name, node, f"{source.of(node.right)} - {source.of(node.left)}")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if not isinstance(node.operand, ast.Constant):
            yield source.replaced(name, node, f"+{source.of(node.operand)}")
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield source.replaced(name, node, source.of(node.value))
    for start, text in _sql(node, source):
        for match in re.finditer(r"\b(ASC|DESC)\b", text):
            at = start + len(text[: match.start()].encode())
            yield Edit(name, at, at + len(match.group()), "DESC" if match.group() == "ASC" else "ASC")


def missing_permission(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Yield requests without their permission check."""
    name = "missing permission check"
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        for decorator in node.decorator_list:
            if PERMISSIONS.search(source.of(decorator)):
                yield Edit(name, source.start(decorator) - 1, source.end(decorator), "")
    if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1:
        only = node.body[0]
        if isinstance(only, ast.Raise | ast.Return) and DENIALS.search(source.of(only)):
            yield source.replaced(name, node.test, "False")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "has_role":
        yield source.replaced(name, node, "True")


def missing_check(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Yield code without a check that raises an error."""
    if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1:
        only = node.body[0]
        if isinstance(only, ast.Raise) and not DENIALS.search(source.of(only)):
            yield source.replaced("missing check", node.test, "False")


def missing_escape(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and node.args and ESCAPES.search(_called(node)):
        yield source.replaced("missing escape", node, f"({source.of(node.args[0])})")


#: In the order in which an area's faults are drawn from them.
OPERATORS: dict[str, Operator] = {
    "dropped lock": dropped_lock,
    "missing permission check": missing_permission,
    "missing escape": missing_escape,
    "dropped WHERE": dropped_condition,
    "swapped direction": swapped_direction,
    "off by one": off_by_one,
    "flipped comparison": flipped_comparison,
    "missing check": missing_check,
}


def python_edits(text: bytes) -> Iterator[tuple[str, Edit]]:
    """Yield (qualified name of the innermost function, edit) for all edits inside functions; a few cannot be
    parsed."""
    source = Source(text)
    for name, node in _inside_functions(ast.parse(text)):
        for operator in OPERATORS.values():
            for edit in operator(node, source):
                yield name, edit


def template_edits(text: bytes) -> Iterator[Edit]:
    """Yield variables of a template that are no longer escaped."""
    for match in re.finditer(rb"\{\{ ([^}|]+(?:\|[^}]*)?) \}\}", text):
        variable = match.group(1)
        if b"safe" not in variable and not variable.startswith((b"form", b"block.", b"field")):
            yield Edit("missing escape", match.start(1), match.end(1), f"{variable.decode()}|safe")


def _inside_functions(
    tree: ast.AST, outer: tuple[str, ...] = (), inside: bool = False
) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node of every function, outside annotations and f-strings, with the function's name."""
    for node in _children(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = (*outer, node.name)
            function = inside or not isinstance(node, ast.ClassDef)
            if function:
                yield ".".join(names), node
            yield from _inside_functions(node, names, function)
        else:
            if inside:
                yield ".".join(outer), node
            if not isinstance(node, ast.JoinedStr):
                yield from _inside_functions(node, outer, inside)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        if isinstance(node, ast.keyword) and node.arg in TUNING:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _comparison(
    name: str, node: ast.Compare, source: Source, others: dict[type[ast.cmpop], str]
) -> Iterator[Edit]:
    left = node.left
    for operation, right in zip(node.ops, node.comparators, strict=True):
        if (replacement := others.get(type(operation))) is not None:
            between = source.text[source.end(left) : source.start(right)]
            # The text between may contain brackets and line breaks, which stay.
            if re.fullmatch(rb"\s*(<=|>=|==|!=|<|>|not\s+in|in|is\s+not|is)\s*", between):
                yield Edit(name, source.end(left), source.start(right), f" {replacement} ")
        left = right


def _sql(node: ast.AST, source: Source) -> Iterator[tuple[int, str]]:
    """Yield (start, source) of a literal that is SQL."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        text = source.of(node)
        if SQL.search(text):
            yield source.start(node), text


def _condition(text: str, start: int) -> str:
    """Return the condition of SQL that begins at `start`, up to its end at the same depth of brackets."""
    depth, offset = 0, start
    while True:
        match = CONDITION_ENDS.search(text, offset)
        if match is None:
            return ""
        token = match.group()
        if token == "(":
            depth += 1
        elif token == ")" and depth:
            depth -= 1
        elif not depth or not token or token == '"""':
            condition = text[start : match.start()].rstrip()
            at_its_end = not token and condition.endswith('"')
            return "" if depth else condition.removesuffix('"').rstrip() if at_its_end else condition
        offset = match.end()


def _without(name: str, index: int, call: ast.Call, source: Source) -> Edit:
    """The call without its argument at `place`, and without a comma beside it."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    end = source.end(values[index])
    if index:
        return Edit(name, source.end(values[index - 1]), end, "")
    comma = re.match(rb"\s*,\s*", source.text[end:])
    return Edit(name, source.end(call.func) + 1, end + (comma.end() if comma else 0), "")


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
