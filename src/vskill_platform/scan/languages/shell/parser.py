"""Parse tokens into pipelines and groups; incomplete code is parsed as far as possible."""

import msgspec

from vskill_platform.scan.languages.shell.lexer import Lexer
from vskill_platform.scan.languages.shell.syntax import (
    Group,
    Pipeline,
    Redirect,
    Simple,
    Token,
    Word,
    bare,
)

#: Deeper groups are read as if they had no brackets.
MAX_DEPTH = 12
#: Limit for the elements of an array.
MAX_ELEMENTS = 400
#: Tokens that open a group, with those that close it.
_OPENERS = {
    "{": "}", "if": "fi", "while": "done", "until": "done", "for": "done", "select": "done",
    "case": "esac",
}  # fmt: skip
_CLOSERS = frozenset({"}", "fi", "done", "esac"})
#: Words after which a new command starts.
_CONNECTORS = frozenset({"then", "else", "elif", "do", "!", "time", "coproc"})
#: All reserved words at the start of a command.
RESERVED = frozenset({*_OPENERS, *_CLOSERS, *_CONNECTORS, "function"})
_SEPARATORS = frozenset({";", "\n", "&", "&&", "||", ";;", ";&", ";;&"})
#: Operators between the two sides of a comparison in ``[[ … ]]``.
_COMPARISONS = frozenset({"==", "=", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


class _Frame(msgspec.Struct):
    group: Group
    closer: str
    pipeline: Pipeline | None = None
    command: Simple | Group | None = None
    start: int = 0
    #: Whether words belong to the head of a for loop or case, not to a command.
    head: list[Word] | None = None


class Parser:
    def __init__(self, code: str, *, max_tokens: int) -> None:
        self._lexer = Lexer(code)
        self._max_tokens = max_tokens
        self.taken = 0
        self._code = code
        self._stack = [_Frame(Group("file"), "")]
        self._line, self._counted = 1, 0
        self._is_coprocess = False

    def parse(self) -> Group:
        tokens = self._lexer.tokens(self._max_tokens)
        self.taken = self._lexer.taken
        index = 0
        while index < len(tokens):
            index += self._take(tokens, index)
        end = len(self._code)
        while len(self._stack) > 1:
            self._close(end)
        self._end_pipeline(end)
        return self._stack[0].group

    def _take(self, tokens: list[Token], index: int) -> int:
        """Take one token, or a few that belong together; return how many."""
        token, frame = tokens[index], self._stack[-1]
        if token.kind == "redirect":
            return self._take_redirect(tokens, index)
        if token.kind == "word" and token.word is not None:
            self._take_word(token, token.word)
        elif token.kind == "run":
            self._take_run(token)
        elif frame.head is not None:
            self._end_head(frame)
        elif token.text in {"|", "|&"}:
            frame.command = None
        elif token.text in {"&&", "||"} and self._is_in_test(tokens, index):
            pass
        elif token.text in _SEPARATORS:
            self._end_pipeline(token.start)
        elif token.text == "(":
            return self._take_paren(tokens, index)
        else:
            self._close_paren(token)
        return 1

    def _is_in_test(self, tokens: list[Token], index: int) -> bool:
        """Return whether a comparison in ``[[ … ]]`` follows and not a command."""
        command = self._stack[-1].command
        if not isinstance(command, Simple) or command.words[:1] != ["[["]:
            return False
        following: list[Word] = []
        for token in tokens[index + 1 : index + 3]:
            following += token.run if token.word is None else [token.word]
        return "]]" not in command.words and bare((following + [""] * 2)[1]) in _COMPARISONS

    def _take_redirect(self, tokens: list[Token], index: int) -> int:
        token = tokens[index]
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        word = token.word  # a here document includes its text
        taken = 1
        if word is None and following is not None and following.kind == "word":
            word, taken = following.word, 2
        if word is None:
            return 1
        op = token.text.lstrip("0123456789")
        fd = token.text[: len(token.text) - len(op)]
        self._command(token).redirects.append(Redirect(fd, op, word))
        return taken

    def _take_run(self, token: Token) -> None:
        """Take bare words: arguments of a command, or one by one if they may be something else."""
        frame = self._stack[-1]
        if frame.head is None and isinstance(frame.command, Simple):
            frame.command.words += token.run
            return
        end = token.start
        for word in token.run:
            start = self._code.index(word, end)
            end = start + len(word)
            self._take_word(Token("word", "", start, end), word)

    def _take_word(self, token: Token, word: Word) -> None:
        frame, text = self._stack[-1], bare(word)
        if frame.head is not None:
            if text == "in" and frame.group.kind == "case":
                frame.head = None
            else:
                frame.head.append(word)
            return
        is_first = frame.command is None
        if text is not None and (is_first or isinstance(frame.command, Group)):
            if text in _CLOSERS and frame.closer == text:
                self._close(token.end)
                return
            if is_first and text in _OPENERS:
                self._open(text, token)
                return
            if text in _CONNECTORS or (is_first and text in _CLOSERS):
                self._is_coprocess |= text == "coproc"
                return
            if text == "function" and is_first:
                return
        command = self._command(token)
        if isinstance(command, Simple):
            command.words.append(word)
            command.is_plain = command.is_plain and text is not None

    def _command(self, token: Token) -> Simple | Group:
        frame = self._stack[-1]
        if frame.pipeline is None:
            frame.pipeline = Pipeline(self._line_of(token.start), is_coprocess=self._is_coprocess)
            self._is_coprocess = False
            frame.start = token.start
        if frame.command is None:
            frame.command = Simple()
            frame.pipeline.stages.append(frame.command)
        return frame.command

    def _line_of(self, position: int) -> int:
        """Return the line of a position behind the previous one."""
        self._line += self._code.count("\n", self._counted, position)
        self._counted = position
        return self._line

    def _open(self, kind: str, token: Token, closer: str | None = None) -> None:
        if len(self._stack) >= MAX_DEPTH:
            return
        self._end_if_group()
        self._command(token)
        frame = self._stack[-1]
        group = Group(kind)
        if frame.pipeline is not None:
            frame.pipeline.stages[-1] = group
        frame.command = group
        inner = _Frame(group, closer or _OPENERS[kind])
        if kind in {"for", "select", "case"}:
            inner.head = []
        self._stack.append(inner)

    def _end_if_group(self) -> None:
        """A group directly after a group starts a new statement."""
        frame = self._stack[-1]
        if isinstance(frame.command, Group):
            frame.command = None

    def _end_head(self, frame: _Frame) -> None:
        words, frame.head = frame.head or [], None
        if frame.group.kind != "case" and words:
            frame.group.name = bare(words[0]) or ""
            frame.group.words = words[2:]

    def _take_paren(self, tokens: list[Token], index: int) -> int:
        frame = self._stack[-1]
        command = frame.command
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        is_function = following is not None and following.text == ")"
        if isinstance(command, Simple) and len(command.words) == 1 and is_function:
            return self._take_function(tokens, index, bare(command.words[0]) or "")
        if isinstance(command, Simple) and command.words:
            return 1  # a bracket in the middle of a command: prose, or a pattern
        self._open("(", tokens[index], closer=")")
        return 1

    def _take_function(self, tokens: list[Token], index: int, name: str) -> int:
        taken = 2
        while index + taken < len(tokens) and tokens[index + taken].text == "\n":
            taken += 1
        opener = tokens[index + taken] if index + taken < len(tokens) else None
        frame = self._stack[-1]
        if opener is None or frame.pipeline is None or len(self._stack) >= MAX_DEPTH:
            return taken
        kind = bare(opener.word) if opener.word else opener.text
        if kind not in {"{", "("}:
            return taken
        group = Group("function", name=name)
        frame.pipeline.stages[-1] = group
        frame.command = group
        self._stack.append(_Frame(group, "}" if kind == "{" else ")"))
        return taken + 1

    def _close_paren(self, token: Token) -> None:
        frame = self._stack[-1]
        if frame.closer == ")":
            self._close(token.end)
        elif frame.group.kind == "case":  # after a pattern
            frame.pipeline = frame.command = None
        else:
            frame.command = None

    def _close(self, end: int) -> None:
        self._end_pipeline(end)
        self._stack.pop()

    def _end_pipeline(self, end: int) -> None:
        frame = self._stack[-1]
        if frame.pipeline is not None:
            frame.pipeline.source = self._code[frame.start : min(end, frame.start + 2000)]
            frame.group.items.append(frame.pipeline)
        frame.pipeline = frame.command = None


def words_of(code: str) -> list[Word]:
    """Return the words of an array."""
    words: list[Word] = []
    for token in Lexer(code).tokens(MAX_ELEMENTS):
        words += token.run if token.word is None else [token.word]
    return words
