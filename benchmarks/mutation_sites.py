"""Places where one change of a Python file could change what it does.

Left out is what no test could or should notice: docstrings, annotations, `if TYPE_CHECKING`, types
without code, texts of a log, and the sum of a string.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
LOGS = frozenset(["debug", "info", "warning", "error", "exception", "critical"])
TYPES_ONLY = frozenset(["Protocol", "TypedDict"])
TYPE_CALLS = frozenset(["TypeVar", "NewType", "cast", "overload", "assert_never"])
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Site(NamedTuple):
    """Bytes `start` to `end` of a file, and what takes their place.

    `function` is the outermost function, with its classes ("Store.open"), or "" outside functions;
    there `names` are those that the statement gives a value.
    """

    path: str
    line: int
    function: str
    names: tuple[str, ...]
    kind: str
    start: int
    end: int
    text: str


class Scope(NamedTuple):
    """The outermost function and, outside functions, the names that a statement assigns."""

    function: str = ""
    classes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def sites(path: str, source: bytes) -> list[Site]:
    """Return every place of a file, in its order; several may share a line."""
    return list(_Finder(path, source).of(ast.parse(source), Scope()))


def mutated(source: bytes, site: Site) -> bytes:
    """Return the file with this one change."""
    return source[: site.start] + site.text.encode() + source[site.end :]


def draw(rooms: dict[str, list[Site]], number: int, seed: int, lines: Counter[str]) -> list[Site]:
    """Draw `number` places: at least one of each room, else as many as its share of the lines.

    Inside a room every line that has places is as likely as any other.
    """
    chance = random.Random(seed)
    drawn = list[Site]()
    for room, share in _shares(lines, number).items():
        by_line: dict[tuple[str, int], list[Site]] = {}
        for site in rooms[room]:
            by_line.setdefault((site.path, site.line), []).append(site)
        chosen = chance.sample(sorted(by_line), min(share, len(by_line)))
        drawn += [chance.choice(by_line[line]) for line in chosen]
    chance.shuffle(drawn)  # so that a run that is stopped early has still tried a fair part
    return drawn


def _shares(lines: Counter[str], number: int) -> dict[str, int]:
    """Divide `number` among rooms by their lines (largest remainder), with at least one each."""
    exact = {room: lines[room] * number / lines.total() for room in sorted(lines)}
    shares = {room: max(1, int(share)) for room, share in exact.items()}
    for room in sorted(exact, key=lambda room: int(exact[room]) - exact[room]):
        if sum(shares.values()) < number:
            shares[room] += 1
    while sum(shares.values()) > number and max(shares.values()) > 1:
        shares[max(shares, key=lambda room: shares[room])] -= 1
    return shares


class _Finder:
    """A walk over one file."""

    def __init__(self, path: str, source: bytes) -> None:
        self._path, self._source = path, source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def of(self, node: ast.AST, scope: Scope) -> Iterator[Site]:
        """Yield the places in this node and in what it holds."""
        if _has_no_behaviour(node):
            return
        yield from self._here(node, scope)
        for child in _children(node):
            yield from self.of(child, _inside(node, child, scope))

    def _site(self, node: ast.AST, scope: Scope, kind: str, text: str) -> Site:
        assert isinstance(node, ast.expr | ast.stmt) and node.end_lineno and node.end_col_offset
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        return Site(self._path, node.lineno, scope.function, scope.names, kind, start, end, text)

    def _segment(self, node: ast.expr) -> str:
        site = self._site(node, Scope(), "", "")
        return self._source[site.start : site.end].decode()

    def _here(self, node: ast.AST, scope: Scope) -> Iterator[Site]:
        if isinstance(node, ast.stmt):
            yield from self._statement(node, scope)
        elif isinstance(node, ast.Compare):
            for number, operator in enumerate(node.ops):
                operators = [*node.ops]
                operators[number] = COMPARISONS[type(operator)]()
                changed = ast.Compare(node.left, operators, node.comparators)
                yield self._site(node, scope, "comparison", f"({ast.unparse(changed)})")
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            text = f"({ast.unparse(ast.BoolOp(other, node.values))})"
            yield self._site(node, scope, "and, or", text)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield self._site(node, scope, "negation", f"({self._segment(node.operand)})")
        elif isinstance(node, ast.IfExp):
            swapped = ast.IfExp(node.test, node.orelse, node.body)
            yield self._site(node, scope, "branches", f"({ast.unparse(swapped)})")
        elif isinstance(node, ast.BinOp) and _computes(node, scope):
            changed_sum = ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
            yield self._site(node, scope, "arithmetic", f"({ast.unparse(changed_sum)})")
        elif isinstance(node, ast.Constant):
            yield from self._constant(node, scope)

    def _constant(self, node: ast.Constant, scope: Scope) -> Iterator[Site]:
        if isinstance(node.value, bool):
            yield self._site(node, scope, "constant", str(not node.value))
        elif isinstance(node.value, int | float):
            yield self._site(node, scope, "constant", repr(node.value + 1))
            yield self._site(node, scope, "constant", f"({node.value - 1!r})")

    def _statement(self, node: ast.stmt, scope: Scope) -> Iterator[Site]:
        if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Constant):
            kind = "branches" if node.orelse else "condition"
            yield self._site(node.test, scope, kind, f"(not ({self._segment(node.test)}))")
        elif isinstance(node, ast.Return) and node.value and not _is_false(node.value):
            yield self._site(node, scope, "return None", "return None")
        elif _can_be_removed(node):
            yield self._site(node, scope, "removed", "pass")


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is executed: no annotations, no docstring."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "type_params", "ctx", "op", "ops"):
            continue
        children = value if isinstance(value, list) else [value]
        yield from (child for child in children if isinstance(child, ast.AST))


def _inside(node: ast.AST, child: ast.AST, scope: Scope) -> Scope:
    if scope.function:
        return scope
    if isinstance(node, Function):
        return Scope(".".join([*scope.classes, node.name]), scope.classes)
    if isinstance(node, ast.ClassDef):
        return Scope("", (*scope.classes, node.name), (node.name,))
    if isinstance(child, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = child.targets if isinstance(child, ast.Assign) else [child.target]
        assigned = [
            part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
        ]
        return scope._replace(names=(*scope.classes, *assigned))
    return scope


def _has_no_behaviour(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True  # Python 3.11 has no places of the parts of an f-string
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    if isinstance(node, ast.ClassDef):
        return any(_last_name(base) in TYPES_ONLY for base in node.bases)
    if isinstance(node, ast.Call):
        return _last_name(node.func) in TYPE_CALLS or _is_log(node.func)
    if isinstance(node, Function):
        return any(_last_name(decorator) == "overload" for decorator in node.decorator_list)
    if isinstance(node, ast.Assign):
        return any(_last_name(target) == "__all__" for target in node.targets)
    return False


def _is_log(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or function.attr not in LOGS:
        return False
    return _last_name(function.value).lower().endswith(("log", "logger", "logging"))


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Subscript(value=inner) | ast.Call(func=inner):
            return _last_name(inner)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _can_be_removed(node: ast.stmt) -> bool:
    """Return False for statements without which the next line would only raise NameError."""
    if isinstance(node, ast.Expr):
        is_call = isinstance(node.value, ast.Call | ast.Await | ast.Yield | ast.YieldFrom)
        return is_call and not _has_no_behaviour(node.value)
    if isinstance(node, ast.Assign):
        return not any(isinstance(target, ast.Name | ast.Tuple) for target in node.targets)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break | ast.Delete)


def _computes(node: ast.BinOp, scope: Scope) -> bool:
    """Return False for texts and unions of types: another operator could only raise TypeError."""
    is_type = isinstance(node.op, ast.BitOr) and not scope.function
    texts = (
        isinstance(part, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str | bytes))
        for part in ast.walk(node)
    )
    return type(node.op) in ARITHMETIC and not is_type and not any(texts)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def mentions(source: bytes) -> dict[str, set[str]]:
    """Return the outermost functions of a file that mention a name, by name."""
    found: dict[str, set[str]] = {}

    def walk(node: ast.AST, scope: Scope) -> None:
        name = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "arg", "")
        if name and scope.function:
            found.setdefault(name, set()).add(scope.function)
        for child in ast.iter_child_nodes(node):
            walk(child, _inside(node, child, scope))

    walk(ast.parse(source), Scope())
    return found
