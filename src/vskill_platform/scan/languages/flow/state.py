"""Data-flow analysis of one program: its state while the statements are evaluated.

The syntax tree is Python's own. JavaScript is converted to that form first, so that one set of
rules handles both, and they differ only in the names of their functions.
"""

import ast
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import classify_host
from vskill_platform.scan.languages.flow.values import (
    NO_TAINTS,
    UNKNOWN,
    Taints,
    Value,
    either,
    tainted,
)

#: How many nodes are evaluated before the analysis of a file stops.
MAX_STEPS = 400_000
_MAX_ROUNDS = 3
_MAX_CALLS_DEEP = 8
_MAX_RUNS = 2
_MAX_FACTS = 2000
_MAX_CONTACTS, _MAX_ADDRESS = 100, 300
#: Statements that are hoisted: known before they are reached.
DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef})


class Reached(ast.stmt):
    """The point where the program reaches a definition and evaluates its defaults."""

    _fields = ()

    def __init__(self, definition: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        super().__init__(lineno=definition.lineno)
        self.definition = definition


_NO_VALUES = (ast.expr_context, ast.operator, ast.cmpop)


class OutOfSteps(Exception):
    """The program is too large to be analysed completely."""


class LexicalScope:
    """The names of one function, or of the file."""

    __slots__ = ("names", "parent", "shared")

    def __init__(self, parent: "LexicalScope | None" = None) -> None:
        self.names: dict[str, Value] = {}
        self.shared: set[str] = set()  #: names that are declared to belong to another scope
        self.parent = parent

    def get(self, name: str) -> Value | None:
        scope: LexicalScope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def holder(self, name: str) -> "LexicalScope":
        """Return the scope in which *name* was declared, or this scope."""
        scope: LexicalScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.parent
        return self


class Function:
    """One function of the file, with its arguments and results."""

    __slots__ = ("body", "given", "is_active", "params", "returns", "runs", "scope", "seen", "used")

    def __init__(self, params: list[str], body: list[ast.stmt], scope: LexicalScope) -> None:
        self.params = params
        self.body = body
        self.scope = LexicalScope(scope)
        self.given: dict[str, Value] = {}
        self.returns = UNKNOWN
        self.is_active = False
        self.runs = 0  #: how often it was evaluated in this round
        self.seen = False  #: whether it was evaluated with all its known arguments
        self.used = False  #: whether its result was already used

    def give(self, name: str, value: Value) -> None:
        """Record that *value* is passed as *name*."""
        known = self.given.get(name, UNKNOWN)
        merged = either(known, value)
        if not merged.is_same(known):
            self.given[name] = merged
            self.seen = False


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """A known function with some of its arguments, or a method that waits for its object."""

    name: str
    args: list[Value]
    named: dict[str, Value]
    is_method: bool = False
    #: Whether it only returns the attribute.
    is_getter: bool = False


class Call(msgspec.Struct, gc=False):
    """One call, with its arguments evaluated."""

    node: ast.Call
    name: str
    method: str
    receiver: Value
    args: list[Value]
    named: dict[str, Value]

    @property
    def line(self) -> int:
        return self.node.lineno

    def arg(self, position: int, *names: str) -> Value:
        """Return an argument by its position or one of its names."""
        if position < len(self.args):
            return self.args[position]
        return next((self.named[name] for name in names if name in self.named), UNKNOWN)

    def given(self) -> list[Value]:
        """Return all arguments."""
        return [*self.args, *self.named.values()] if self.named else self.args

    def taints(self) -> Taints:
        return tainted(self.receiver, *self.given())


Handler = Callable[["Flow", Call], Value | None]


class Language(msgspec.Struct, frozen=True):
    """The handlers for the functions of a language."""

    #: By the type of the node.
    expressions: Mapping[type[ast.AST], Callable[["Flow", Any], Value]]
    statements: Mapping[type[ast.AST], Callable[["Flow", Any], None]]
    calls: Mapping[str, Handler]
    methods: Mapping[str, Handler]
    constants: Mapping[str, Value]
    read: Callable[[str], list[Fact]]


class Flow:
    """The state of analysing one file."""

    def __init__(self, code: str, language: Language) -> None:
        self.code = code
        self.language = language
        self.expressions = language.expressions
        self.statements = language.statements
        self.constants = language.constants
        self.calls = language.calls
        self.methods = language.methods
        self.scope = self.top = LexicalScope()
        self.facts: dict[tuple[Act, int, str, str | None], Fact] = {}
        self.counts: dict[Act, int] = {}
        self.functions: dict[int, Function] = {}
        self.dotted: dict[str, Value] = {}  #: attributes that were set, by their full name
        self.members: dict[str, dict[str, Value]] = {}  #: of the classes of the file
        self.inherited = 0  #: members of classes that were copied to subclasses
        self.missed: set[str] = set()  #: attributes that were read before they were set
        self.files: dict[str, Taints] = {}  #: what was written to which path
        self.copies: dict[int, bool] = {}  #: copies of the environment: line, only for a process
        #: Writes to files of the agent with computed names, by path.
        self.temporary: dict[str, list[tuple[Act, int, str, str | None]]] = {}
        #: The lines at which a file may be written that is always removed, by line of its removal.
        self.removals: dict[int, range] = {}
        self.contacts: dict[str, int] = {}  #: addresses in arguments of calls, with their lines
        self.printed_tokens = 0  #: the line of a command that prints a stored token
        self.has_copied = False  #: whether there was a copy in any round
        self.returned: list[Value] = []
        self.pending: list[Function] = []
        self.depth = 0
        self.branches = 0  #: how many conditions enclose the statement
        self.steps = MAX_STEPS
        self.has_changed = False
        self.has_operators = False  #: whether a class has special methods of its own
        self.is_cut = False  #: whether some of it exceeded a limit
        self._lines: list[str] | None = None  #: split only if there is something to show

    def follow(self, body: list[ast.stmt]) -> None:
        """Evaluate the program repeatedly until nothing new is found."""
        for _ in range(_MAX_ROUNDS):
            self.facts.clear()
            self.counts.clear()
            self.copies.clear()
            self.inherited = 0
            self.has_changed = False
            for function in self.functions.values():
                function.runs = 0
                function.seen = False
            self.scope = self.top
            self.run(body)
            while self.pending:
                function = self.pending.pop(0)
                if not function.runs:
                    self.enter(function)
            if not self.has_changed and all(each.seen for each in self.functions.values()):
                break

    def run(self, body: list[ast.stmt]) -> None:
        for node in body:
            if node.__class__ in DEFINITIONS:
                self.statements[node.__class__](self, node)
        for node in body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._run_one(node)
            elif node.decorator_list or node.args.defaults or node.args.kw_defaults:
                self._run_one(Reached(node))

    def _run_one(self, node: ast.stmt) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise OutOfSteps
        handler = self.statements.get(node.__class__)
        scope, branches = self.scope, self.branches
        try:
            if handler is not None:
                handler(self, node)
            else:
                self.look_into(node)
        except RecursionError:
            self.is_cut = True
            self.scope, self.branches = scope, branches

    def evaluate(self, node: ast.AST) -> Value:
        self.steps -= 1
        if self.steps < 0:
            raise OutOfSteps
        handler = self.expressions.get(node.__class__)
        return handler(self, node) if handler is not None else self.look_into(node)

    def look_into(self, node: ast.AST) -> Value:
        """Evaluate all parts of a node that has no handler."""
        taints = NO_TAINTS
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.run([child])
            elif not isinstance(child, _NO_VALUES):
                taints |= self.evaluate(child).taints
        return Value(taints=taints) if taints else UNKNOWN

    def enter(self, function: Function) -> None:
        """Evaluate the body of a function with its known arguments."""
        if function.is_active or self.depth >= _MAX_CALLS_DEEP or function.runs >= _MAX_RUNS:
            return
        function.runs += 1
        function.is_active = function.seen = True
        outer, self.scope = self.scope, function.scope
        returned, self.returned = self.returned, []
        branches, self.branches = self.branches, 0
        self.depth += 1
        for name in function.params:
            function.scope.names[name] = function.given.get(name, UNKNOWN)
        try:
            self.run(function.body)
            self._note_result(function)
        finally:
            self.scope, self.returned, self.branches = outer, returned, branches
            self.depth -= 1
            function.is_active = False

    def _note_result(self, function: Function) -> None:
        result = function.returns
        for value in self.returned:
            result = either(result, value)
        if function.used and not result.is_same(function.returns):
            self.has_changed = True
        function.returns = result

    def result_of(self, function: Function) -> Value:
        if not function.seen:
            self.enter(function)
        function.used = True
        return function.returns

    def bind(self, name: str, value: Value, *, outward: bool = False) -> None:
        """Bind a name to a value; inside a condition it may also keep the old value."""
        is_shared = outward or name in self.scope.shared
        scope = self.scope.holder(name) if is_shared else self.scope
        if self.branches or scope is not self.scope:
            value = either(scope.names.get(name, UNKNOWN), value)
        scope.names[name] = value

    def set_dotted(self, name: str, value: Value) -> None:
        known = self.dotted.get(name)
        merged = value if known is None else either(known, value)
        if name in self.missed and (known is None or not merged.is_same(known)):
            self.has_changed = True
        self.dotted[name] = merged

    def release(self) -> None:
        """Break the reference cycles of functions, so that all memory is freed."""
        for function in self.functions.values():
            function.scope = LexicalScope()
            function.given.clear()
            function.returns = UNKNOWN

    def add(
        self, act: Act, line: int, *, detail: str = "", host: str | None = None, text: str = ""
    ) -> None:
        key = (act, line, detail, host)
        if key in self.facts or not self._has_room(act):
            return
        text = text or self.line_at(line)
        self.facts[key] = Fact(
            act=act, line=line, text=shorten(text[:2000]), detail=shorten(detail[:2000]), host=host,
            host_class=classify_host(host) if host else None,
        )  # fmt: skip

    def note_contact(self, address: str, line: int) -> None:
        if len(self.contacts) < _MAX_CONTACTS:
            self.contacts.setdefault(address[:_MAX_ADDRESS], line)

    def line_at(self, number: int) -> str:
        if self._lines is None:
            self._lines = self.code.splitlines()
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def _has_room(self, act: Act) -> bool:
        """Count facts by act, so that a flood of harmless facts does not hide others."""
        count = self.counts[act] = self.counts.get(act, 0) + 1
        self.is_cut |= count > _MAX_FACTS
        return count <= _MAX_FACTS

    def add_all(self, facts: list[Fact], line: int) -> None:
        """Add the facts about a nested program that starts at *line*."""
        for fact in facts:
            where = line + fact.line - 1
            key = (fact.act, where, fact.detail, fact.host)
            if key not in self.facts and self._has_room(fact.act):
                self.facts[key] = msgspec.structs.replace(fact, line=where)
