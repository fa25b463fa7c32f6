"""Mutants of a module: one place changed by an operator of mutmut."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from campaigns.mutants.mutant import Mutant
from campaigns.mutants.packages import ROOT

NOT_MUTATED = (cst.Annotation, cst.Raise, cst.Import, cst.ImportFrom, cst.Decorator)
"""Types, messages of errors, and what would not run at all."""
MESSAGES = ("Error", "Warning", "warn", "cast", "TypeVar")
"""Calls whose name ends so make a message or name a type."""
ARGUMENTS = ("strict", "name", "axes", "search", "stacklevel")
"""Arguments that guard against what does not happen, are words of a message, or hints to tune."""

SAYING = ("check", "track", "status", "step")
"""Calls whose name begins so take words for a message."""
HELD_ELSEWHERE = ("check_state", "__repr__")
"""What the store campaign holds, with the calls of `checks`; and how an object is shown."""

STATEMENTS = (cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With)


@dataclass(frozen=True)
class Place:
    """A node that an operator may change."""

    node: cst.CSTNode
    mutated: cst.CSTNode
    operator: str
    line: int
    statement: tuple[int, int]
    function: str
    in_body: bool


class _Places(cst.CSTVisitor):
    """Collects the places of a module, leaving out what cannot matter by its kind."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Place] = []
        self.scopes: list[cst.FunctionDef | cst.ClassDef] = []
        self.parameters = 0
        self.words: set[int] = set()
        self.statements: list[tuple[cst.CSTNode, tuple[int, int]]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, NOT_MUTATED) or _is_left_out(node, bool(self.scopes)):
            return False
        position = self.get_metadata(PositionProvider, node, None)
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self.scopes.append(node)
        elif isinstance(node, cst.Parameters):
            self.parameters += 1
        elif isinstance(node, STATEMENTS):
            self.statements.append((node, _lines_of_statement(self, node)))
        if position is not None:
            self._collect(node, position.start.line)
        if isinstance(node, cst.Call) and _called(node).startswith(SAYING):
            self.words |= {id(arg.value) for arg in node.args}
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if self.scopes and self.scopes[-1] is original_node:
            self.scopes.pop()
        elif isinstance(original_node, cst.Parameters):
            self.parameters -= 1
        elif self.statements and self.statements[-1][0] is original_node:
            self.statements.pop()

    def _collect(self, node: cst.CSTNode, line: int) -> None:
        in_function = any(isinstance(scope, cst.FunctionDef) for scope in self.scopes)
        for kind, operator in mutation_operators:
            if not isinstance(node, kind):
                continue
            for mutated in operator(node):
                is_word = isinstance(node, cst.SimpleString) and id(node) in self.words
                if is_word or _is_of_words(node, mutated):
                    continue
                self.places.append(
                    Place(
                        node,
                        mutated,
                        operator.__name__.removeprefix("operator_"),
                        line,
                        self.statements[-1][1] if self.statements else (line, line),
                        ".".join(scope.name.value for scope in self.scopes),
                        in_function and not self.parameters,
                    )
                )


def _lines_of_statement(visitor: cst.CSTVisitor, node: cst.CSTNode) -> tuple[int, int]:
    """First and last line of a statement; of a block, of its head."""
    whole = visitor.get_metadata(PositionProvider, node)
    body = getattr(node, "body", None)
    if isinstance(body, cst.IndentedBlock):
        return whole.start.line, visitor.get_metadata(PositionProvider, body.body[0]).start.line - 1
    return whole.start.line, whole.end.line


def _is_of_words(node: cst.CSTNode, mutated: cst.CSTNode) -> bool:
    """Whether a change is one of words that people read, or of an argument left out."""
    if isinstance(node, cst.SimpleString):
        return " " in node.value
    if not isinstance(node, cst.Call) or not isinstance(mutated, cst.Call):
        return False
    kept = {id(arg) for arg in mutated.args}
    (changed, *_) = [arg for arg in node.args if id(arg) not in kept] or [None]
    if changed is None:
        return False
    if changed.keyword is not None and changed.keyword.value in ARGUMENTS:
        return True
    is_string = isinstance(changed.value, cst.SimpleString | cst.ConcatenatedString)
    return is_string and (_called(node).startswith(SAYING) or " " in str(changed.value))


def _called(node: cst.Call) -> str:
    """The last name of what is called."""
    last = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    return last.value if isinstance(last, cst.Name) else ""


def _is_left_out(node: cst.CSTNode, in_scope: bool) -> bool:
    if isinstance(node, cst.FunctionDef):
        return node.name.value in HELD_ELSEWHERE
    if isinstance(node, cst.Call):
        of = node.func.value if isinstance(node.func, cst.Attribute) else None
        is_check = isinstance(of, cst.Name) and of.value == "checks"
        return is_check or _called(node).endswith(MESSAGES)
    if isinstance(node, cst.Arg):
        return node.keyword is not None and node.keyword.value in ARGUMENTS
    if isinstance(node, cst.If):
        test = node.test.expression if isinstance(node.test, cst.UnaryOperation) else node.test
        return isinstance(test, cst.Name) and test.value == "TYPE_CHECKING"
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
        value = node.value
        is_alias = not in_scope and (
            isinstance(value, cst.Subscript | cst.BinaryOperation)
            or (isinstance(value, cst.Call) and _called(value).endswith(MESSAGES))
        )
        return is_alias or (isinstance(target, cst.Name) and target.value.startswith("__"))
    return isinstance(node, cst.Expr) and isinstance(
        node.value, cst.SimpleString | cst.ConcatenatedString
    )


def sample(files: list[str], number: int, seed: int) -> list[Mutant]:
    """Draw mutants of a package: lines are drawn evenly, then an operator, then a change.

    Parameters
    ----------
    number : int
        How many; each line that can be changed gives one mutant at most.
    """
    lines = []
    modules = {}
    for file in files:
        wrapper = MetadataWrapper(cst.parse_module((ROOT / file).read_text()))
        visitor = _Places()
        wrapper.visit(visitor)
        modules[file] = wrapper.module
        of_line: dict[int, list[Place]] = defaultdict(list)
        for place in visitor.places:
            of_line[place.line].append(place)
        lines += [(file, line, places) for line, places in sorted(of_line.items())]
    rng = random.Random(seed)
    rng.shuffle(lines)
    mutants = []
    for file, _, places in lines:
        if len(mutants) == number:
            break
        mutant = _first_valid(file, modules[file], _drawn_order(places, rng))
        if mutant is not None:
            mutants.append(mutant)
    return sorted(mutants, key=lambda mutant: (mutant.file, mutant.line))


def _drawn_order(places: list[Place], rng: random.Random) -> list[Place]:
    """Places in random order, such that every operator is as likely to come first."""
    of_operator: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        of_operator[place.operator].append(place)
    operators = sorted(of_operator)
    rng.shuffle(operators)
    return [
        place
        for name in operators
        for place in rng.sample(of_operator[name], len(of_operator[name]))
    ]


def _first_valid(file: str, module: cst.Module, places: list[Place]) -> Mutant | None:
    """The first place whose change compiles and is a change."""
    source = module.code
    for place in places:
        changed = module.visit(_Replace(place.node, place.mutated)).code
        try:
            same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source))
            compile(changed, file, "exec", dont_inherit=True)
        except SyntaxError:
            continue
        if not same:
            before, after = _changed_lines(source, changed)
            return Mutant(
                file,
                place.line,
                place.statement,
                place.function,
                place.operator,
                before,
                after,
                changed,
                place.in_body,
            )
    return None


class _Replace(cst.CSTTransformer):
    """Replaces one node, known by identity."""

    def __init__(self, node: cst.CSTNode, mutated: cst.CSTNode) -> None:
        super().__init__()
        self.node, self.mutated = node, mutated

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        return self.mutated if original_node is self.node else updated_node


def _changed_lines(source: str, changed: str) -> tuple[str, str]:
    """The lines that differ, without those around them."""
    old, new = source.splitlines(), changed.splitlines()
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1

    def shown(lines: list[str]) -> str:
        return " ".join(line.strip() for line in lines[start : len(lines) - end])

    return shown(old), shown(new)
