"""What opaque text declares, reads and writes, judged from its tokens on the safe side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from pycparser import c_ast, c_generator

from genome.ir.print_tokens import Token, closing, render, tokenize
from genome.ir.stmt import Opaque
from genome.ir.types import VECTOR_TYPES
from genome.source.encode import SCALAR_TYPES, Encoded, decode_words
from genome.source.names import Names
from genome.source.surroundings import Surroundings

_ASSIGN = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"})
_NOT_NAMES = frozenset({"return", "case", "else", "goto", "const", "sizeof", "if", "for", "while", "switch", "do"})

_ALIGNING = frozenset({"__align__", "alignas", "__attribute__"})
_BEHIND_NAMES = frozenset({"=", ";", "(", "{", "[", ","})
_STATEMENTS = frozenset({"delete", "new", "throw", "asm", "__asm__", "__asm", "break", "continue"})


class OpaqueMaker:
    """Makes opaque statements: text with unique names, and what it may do."""

    def __init__(self, names: Names, encoded: Encoded, around: Surroundings) -> None:
        self.names, self.encoded, self.around = names, encoded, around
        self.generator = c_generator.CGenerator(reduce_parentheses=True)

    def node(self, node: c_ast.Node) -> Opaque:
        """A parsed statement as text."""
        text = self.generator.visit(node)
        if not isinstance(node, (c_ast.If, c_ast.For, c_ast.While, c_ast.Switch, c_ast.Compound)):
            text += ";"
        text = re.sub(r"^( +)", lambda match: match[1] * 2, re.sub(r"\n *\{\n", " {\n", text), flags=re.MULTILINE)
        tokens = decode_words(tokenize(text), self.encoded)
        return self._as_opaque(tokens, (node.name,) if isinstance(node, c_ast.Decl) else ())

    def region(self, number: int) -> Opaque:
        """A statement that was never parsed."""
        tokens = self.encoded.regions[number]
        return self._as_opaque(list(tokens), declared_names(tokens))

    def _as_opaque(self, tokens: list[Token], declares: tuple[str, ...]) -> Opaque:
        declared = tuple(self.names.declare(name, "", True) for name in declares)
        renamed: list[Token] = []
        for token in tokens:
            new = self.names.find(token.text) if token.kind == "word" else None
            member = bool(renamed) and renamed[-1].text in (".", "->", "::")
            renamed.append(token._replace(text=new) if new and not member and new != token.text else token)
        reads, writes = region_effects(
            renamed, self.names.arrays, self.names.visible() - set(declared), self.around.keeps
        )
        if declared and _may_alias(tokens, declares[0]):
            self.names.aliases.update(dict.fromkeys(declared, self._reachable(renamed, reads)))
        reads, writes = self._through_aliases(reads), self._through_aliases(writes)
        words = {token.text for token in renamed}
        barrier = bool(
            words & ({"__syncthreads", "sync", "return", "asm", "__asm__", "goto"} | self.around.barrier_helpers)
        )
        barrier = barrier or any(word.startswith("__sync") for word in words)
        text = _margin(render([renamed[0]._replace(space=""), *renamed[1:]]).strip())
        return Opaque(text, reads, writes, barrier, declared)

    def _reachable(self, tokens: Sequence[Token], reads: Sequence[str]) -> tuple[str, ...]:
        """What a reference, pointer or closure may reach: arrays, and scalars where it binds them."""
        texts = [token.text for token in tokens]
        captures = any(pair == ("[", "&") for pair in pairwise(texts))
        bound = texts[-2] if len(texts) > 2 and texts[-3] in ("=", "(", "&") else ""
        return tuple(name for name in reads if name in self.names.arrays or captures or name == bound)

    def _through_aliases(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names, and behind each alias what it may reach."""
        found: dict[str, None] = {}
        for name in names:
            found.setdefault(name)
            found.update(dict.fromkeys(self.names.aliases.get(name, ())))
        return tuple(found)


def _may_alias(tokens: Sequence[Token], name: str) -> bool:
    """True unless the declared type is a plain value type."""
    head = [token.text for token in tokens[: next((i for i, t in enumerate(tokens) if t.text == name), 0)]]
    plain = {"const", "volatile", *SCALAR_TYPES, *VECTOR_TYPES}
    return not all(text in plain for text in head)


def _margin(text: str) -> str:
    """The text with its first line at the margin, and the others indented relative to it."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    rest = [len(line) - len(line.lstrip()) for line in lines[1:]]
    shift = min(rest, default=0) - (0 if lines[-1].lstrip().startswith("}") else 4)
    if shift <= 0:
        return "\n".join(lines)
    return "\n".join([lines[0], *(line[min(shift, indent) :] for line, indent in zip(lines[1:], rest, strict=True))])


def declared_names(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Names that a statement declares at its own level: ``T name =``, ``T& name(``, ``T* name;``."""
    if not tokens or tokens[0].kind != "word" or tokens[0].text in (_NOT_NAMES | _STATEMENTS) - {"const"}:
        return ()
    found: list[str] = []
    position = 1
    while position + 1 < len(tokens):
        token, before, after = tokens[position], tokens[position - 1], tokens[position + 1].text
        if token.text in ("(", "[", "{"):
            position = closing(tokens, position)
        elif token.text == "=":
            break
        elif token.text in _ALIGNING and after == "(":
            position = closing(tokens, position + 1)
        elif token.kind == "word" and after in _BEHIND_NAMES and (_type_end(before) or before.text == ")"):
            found.append(token.text)
        position += 1
    return tuple(dict.fromkeys(found))


def moves(tokens: Sequence[Token]) -> Counter[str]:
    """How often each name is set as a whole (``p = q``, ``p += n``, ``p++``) outside of its declaration."""
    found: Counter[str] = Counter()
    for position, token in enumerate(tokens):
        if token.kind != "word":
            continue
        before = tokens[position - 1].text if position else ""
        after = tokens[position + 1].text if position + 1 < len(tokens) else ""
        stepped = after in ("++", "--") or before in ("++", "--")
        if stepped or (after in _ASSIGN and before not in ("*", "const", "restrict", "__restrict__", "__restrict")):
            found[token.text] += 1
    return found


def _type_end(token: Token) -> bool:
    return (token.kind == "word" and token.text not in _NOT_NAMES - {"const"}) or token.text in ("&", "*", ">", "&&")


def region_effects(
    tokens: Sequence[Token], arrays: set[str], visible: set[str], keeps: Callable[[str], bool]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(names read, names written) among the kernel's variables, in order; ``keeps`` tells functions by value.

    A scalar is written when an assignment operator or ``&`` touches it, or when it is passed to a call that may take
    a reference. An array is taken as written when anything in the text is stored through it, or when it is passed on.
    """
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    callers = _callers(tokens)
    for position, token in enumerate(tokens):
        name = token.text
        before = tokens[position - 1].text if position else ""
        if token.kind != "word" or before in (".", "->", "::") or name not in visible:
            continue
        reads.setdefault(name)
        if (
            before in ("++", "--", "&")
            or _stored(tokens, position)
            or _passed(tokens, position, callers[position], keeps)
            or (name in arrays and before == "*")
        ):
            writes.setdefault(name)
        elif name in arrays and not (position + 1 < len(tokens) and tokens[position + 1].text == "["):
            writes.setdefault(name)  # the address escapes
    return tuple(reads), tuple(writes)


def _end_of(tokens: Sequence[Token], position: int) -> int:
    """Index behind a name, its subscripts and its members."""
    end = position + 1
    while end < len(tokens) and tokens[end].text in ("[", ".", "->"):
        end = closing(tokens, end) + 1 if tokens[end].text == "[" else end + 2
    return end


def _stored(tokens: Sequence[Token], position: int) -> bool:
    """True if an assignment operator follows the name, its subscripts and its members."""
    end = _end_of(tokens, position)
    return end < len(tokens) and tokens[end].text in _ASSIGN


def _passed(tokens: Sequence[Token], position: int, caller: str, keeps: Callable[[str], bool]) -> bool:
    """True if the variable or element is an argument of a call that may write it."""
    if not caller or keeps(caller):
        return False
    end = _end_of(tokens, position)
    return tokens[position - 1].text in ("(", ",") and end < len(tokens) and tokens[end].text in (")", ",")


def _callers(tokens: Sequence[Token]) -> list[str]:
    """For each token, the function whose argument list holds it, or ""."""
    stack: list[str] = []
    result: list[str] = []
    for position, token in enumerate(tokens):
        if token.text == "(":
            before = tokens[position - 1] if position else None
            called = before is not None and (before.kind == "word" or before.text == ">")
            name = before.text if before is not None and called else ""
            stack.append("" if name in _NOT_NAMES else name)
        elif token.text == ")" and stack:
            stack.pop()
        result.append(stack[-1] if stack else "")
    return result
