"""CUDA C text to the loop IR: the one entrance of the front end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pycparser import c_ast, c_parser

from genome.ir.kernel import Kernel
from genome.ir.print_source import print_kernel
from genome.ir.print_tokens import Token, tokenize, unbalanced
from genome.source.constants import file_constants
from genome.source.encode import Encoded, encode_body
from genome.source.errors import SourceError
from genome.source.launched import Launched
from genome.source.nesting import bounded
from genome.source.normalise import normalise
from genome.source.opaque import moves
from genome.source.opening import Opened, open_kernel
from genome.source.parse import Parsed, read_body
from genome.source.prelude import prelude_text, still_needed
from genome.source.preprocess import preprocess
from genome.source.regions import broken_token
from genome.source.signature import entries
from genome.source.slice import Item, find_entry, items, type_names
from genome.source.surroundings import Surroundings, answers, by_value, defined_once, pointerless, references
from genome.source.typedefs import typedefs
from genome.variant import Target

__all__ = ["SourceError", "entries", "parse_kernel"]

_HINT = "rewrite it in plain C; macros, block shape and options are tuned all the same"
_POSITION = re.compile(r"^(?P<file>.*?):(?P<line>\d+):(?:(?P<column>\d+):)?\s*(?P<message>.*)$", re.DOTALL)


def parse_kernel(
    source: str,
    entry: str,
    *,
    path: str = "kernel.cu",
    template_args: Sequence[str] = (),
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
    launched: Launched | None = None,
) -> Kernel:
    """Reads one ``__global__`` function into the normalised IR.

    Args:
        source: Text of the file.
        entry: Name of the kernel.
        path: The file's name, for messages and relative includes.
        template_args: Arguments of a kernel template, in order.
        defines: Macros; they win over the file's own ``#define``.
        include_dirs: Folders of included files.
        launched: How the kernel is launched, if that is known: constants of the source may stand for its block.

    Returns:
        The kernel. Its parallel axes are empty when the index map was not understood: its body is then as written.

    Raises:
        SourceError: If the file cannot be preprocessed, the kernel is missing, or its body is out of reach.
    """
    return parse_opened(open_kernel(source, entry, path, template_args, defines, include_dirs), path, launched)


def parse_opened(opened: Opened, path: str, launched: Launched | None = None) -> Kernel:
    """The normal form of a kernel whose file has been read.

    Raises:
        SourceError: If its body is out of reach.
    """
    constants = file_constants(opened.part.prelude)
    encoded, tree = parse_body(opened, path)
    named = typedefs(opened.found)
    with bounded(opened.part.entry.tokens, path):
        parsed = _read(opened, constants, named, encoded, tree)
        params = tuple(replace(param, ctype=named.get(param.ctype, param.ctype)) for param in opened.kernel.params)
        kernel = replace(opened.kernel, params=params, body=parsed.body, shared=parsed.shared)
        kernel = normalise(kernel, parsed, launched)
        return _without_helpers(kernel, opened) if parsed.put_in else kernel


def _without_helpers(kernel: Kernel, opened: Opened) -> Kernel:
    """The kernel without the helpers that nothing calls any more."""
    text = print_kernel(replace(kernel, prelude=""), Target.CUDA)
    words = frozenset(token.text for token in tokenize(text) if token.kind == "word")
    return replace(kernel, prelude=prelude_text(still_needed(opened.part, words), opened.missing))


def entry_tokens(
    source: str,
    entry: str,
    *,
    path: str = "kernel.cu",
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> tuple[Token, ...]:
    """Tokens of one kernel with their lines in the file, after preprocessing.

    Raises:
        SourceError: If the file cannot be preprocessed or the kernel is missing.
    """
    return find_entry(items(preprocess(source, path, defines, include_dirs).tokens), entry, path).tokens


def parse_body(opened: Opened, path: str) -> tuple[Encoded, c_ast.Compound]:
    """Parses the body; where C cannot spell a statement, a second pass makes just that statement opaque.

    Raises:
        SourceError: If even that does not help.
    """
    item = opened.part.entry
    body = item.tokens[item.body :]
    lone = unbalanced(body)
    if lone is not None:
        raise SourceError(lone.file or path, lone.line, f"'{lone.text}' has no partner", "close the bracket")
    types = type_names(opened.found)
    with bounded(body, path):
        try:
            encoded = encode_body(body, types)
            return encoded, _tree(encoded.text, path)
        except c_parser.ParseError:
            encoded = encode_body(body, types, _unparsable)
        try:
            return encoded, _tree(encoded.text, path)
        except c_parser.ParseError as error:
            wrong = broken_token(body)
            if wrong is not None:
                raise SourceError(wrong.file or path, wrong.line, f"cannot parse '{wrong.text}'", _HINT) from None
            raise _source_error(error, item, path) from None


def _tree(text: str, path: str) -> c_ast.Compound:
    tree = c_parser.CParser().parse(text, path)
    return tree.ext[-1].body


def _unparsable(text: str) -> bool:
    try:
        c_parser.CParser().parse(text)
    except c_parser.ParseError:
        return True
    return False


def _source_error(error: Exception, item: Item, path: str) -> SourceError:
    match = _POSITION.match(str(error))
    if match is None:
        return SourceError(path, item.line, f"kernel '{item.names[0]}' cannot be parsed", _HINT)
    what = match["message"].removeprefix("before: ").strip() or "end of the kernel"
    return SourceError(match["file"] or path, int(match["line"]), f"cannot parse '{what}'", _HINT)


def _read(opened: Opened, constants: Mapping[str, int], named: Mapping[str, str], encoded: Encoded,
          tree: c_ast.Compound) -> Parsed:  # fmt: skip
    part, params = opened.part, opened.kernel.params
    functions = [item for item in part.prelude if item.kind == "function"]
    around = Surroundings(
        parameters={param.name: named.get(param.ctype, param.ctype) for param in params},
        pointers={p.name: f"{'const ' if p.const else ''}{p.ctype}*" for p in params if p.pointer},
        constants=constants,
        taken=frozenset(name for item in part.prelude for name in item.names) | {part.entry.names[0]},
        barrier_helpers=frozenset(n for item in functions if _may_synchronise(item.tokens) for n in item.names),
        moves=moves(part.entry.tokens[part.entry.body :]),
        typedefs=named,
        types=type_names(opened.found),
        helpers=defined_once(part.prelude),
        words=part.entry.words,
        by_value=by_value(opened.found),
        references=references(opened.found),
        answers=answers(opened.found, named),
        pointerless=pointerless(opened.found),
    )
    return read_body(tree, encoded, around)


def _may_synchronise(tokens: Sequence[Token]) -> bool:
    return any(token.text.startswith("__sync") or token.text in ("asm", "__asm__") for token in tokens)
