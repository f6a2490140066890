"""CUDA text to OpenCL C, token by token: for helpers, opaque statements and kernels outside the subset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from genome.ir.halves import SHORT
from genome.ir.print_errors import PrintError
from genome.ir.print_functions import ATOMICS, BARRIERS, BINARY, CUDA_ONLY, FAST, MATH, RENAMED
from genome.ir.print_halves import NAMES
from genome.ir.print_names import DYNAMIC_SHARED, opencl_type
from genome.ir.print_tokens import Token, closing, closing_angle, mark, render, split_commas, tokenize, word
from genome.ir.types import VECTOR_TYPES, canonical

_WORK_ITEM = {"threadIdx": "get_local_id", "blockIdx": "get_group_id", "blockDim": "get_local_size",
              "gridDim": "get_num_groups"}  # fmt: skip
_DROPPED = frozenset({"__device__", "__host__", "__forceinline__", "__noinline__", "inline", "__inline__", "static",
                      "register", "extern", "typename", "constexpr"})  # fmt: skip
_RENAMED_WORDS = {"__restrict__": "restrict", "__restrict": "restrict", "__shared__": "__local", "nullptr": "0",
                  "__constant__": "__constant", "CUDART_INF_F": "INFINITY", "HUGE_VALF": "INFINITY",
                  "auto": "__auto_type", "__threadfence_block": "mem_fence", "__threadfence": "mem_fence"}  # fmt: skip
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast"})
_TYPE_WORDS = frozenset({"unsigned", "signed", "int", "long", "short", "char", "float", "double", "bool", "size_t",
                         "half", "uint", "uchar", "ushort", "ulong", "int8_t", "uint8_t", "int16_t", "uint16_t",
                         "int32_t", "uint32_t", "int64_t", "uint64_t", "__half", "__nv_bfloat16",
                         "nv_bfloat16"})  # fmt: skip
_FOREIGN = frozenset({"template", "class", "namespace", "operator", "asm", "__asm__", "new", "delete", "this", "using",
                      "cooperative_groups", "lambda", "decltype", "virtual"})  # fmt: skip
_KEYWORDS = frozenset({"if", "for", "while", "switch", "return", "sizeof", "else", "do", "case"})


def translate_statement(text: str, spaces: Mapping[str, str], types: frozenset[str] = frozenset()) -> str:
    """One opaque statement.

    Args:
        text: CUDA text.
        spaces: Address space of each pointer or array of the kernel (``__global``, ``__local`` or "").
        types: Names of the file's own types.

    Raises:
        PrintError: If OpenCL C cannot say it.
    """
    return render(translate(tokenize(text), spaces, types=types)).strip()


def translate(
    tokens: Sequence[Token],
    spaces: Mapping[str, str],
    default: str = "__global",
    types: frozenset[str] = frozenset(),
) -> list[Token]:
    """Tokens of function bodies or declarations; pointer types get the address space of what they are set to.

    Args:
        tokens: CUDA tokens.
        spaces: Address space of each pointer or array by name.
        default: Address space of a pointer that is set to none of these.
        types: Names of the file's own types.

    Raises:
        PrintError: If OpenCL C cannot say it.
    """
    return _Translator(spaces, default, types).run(list(tokens))


class _Translator:
    """Rewrites a token list from left to right."""

    def __init__(self, spaces: Mapping[str, str], default: str, types: frozenset[str]) -> None:
        self.spaces, self.default, self.types = spaces, default, types

    def run(self, tokens: list[Token]) -> list[Token]:
        """The translated tokens."""
        result: list[Token] = []
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.text in ("::", "<<<") or (token.text == "&" and self._reference(tokens, position)):
                if token.text == "::":
                    position += 1
                    continue
                raise PrintError(f"line {token.line}: C++ references and launches have no counterpart in OpenCL C")
            if token.text == "[" and result and result[-1].text in ("=", "(", ",") and result[-1].kind == "mark":
                raise PrintError("lambdas have no counterpart in OpenCL C")
            if token.kind == "number" and token.text[-2:].lower() == "ll":
                token = token._replace(text=token.text[:-1])
            if token.kind == "word":
                position = self._word(tokens, position, result)
                continue
            result.append(token)
            position += 1
        return result

    @staticmethod
    def _reference(tokens: Sequence[Token], position: int) -> bool:
        """True for ``T& name``: an ampersand behind a type word."""
        return position > 0 and tokens[position - 1].text in _TYPE_WORDS

    def _word(self, tokens: list[Token], position: int, result: list[Token]) -> int:
        token = tokens[position]
        text = token.text
        after = tokens[position + 1].text if position + 1 < len(tokens) else ""
        member = bool(result) and result[-1].text in (".", "->")
        if member:
            result.append(token)
            return position + 1
        if text in _FOREIGN or text in CUDA_ONLY:
            raise PrintError(f"'{text}' has no counterpart in OpenCL C")
        if text == "extern" and after == "__shared__":
            return self._dynamic_shared(tokens, position, result)
        if text == "constexpr" and after in ("int", "unsigned", "size_t"):
            return self._constant(tokens, position, result)
        if text in _DROPPED:
            return position + 1 + (1 if text == "extern" and after.startswith('"') else 0)
        if text in ("__align__", "__launch_bounds__", "alignas", "__attribute__") and after == "(":
            return self._attribute(tokens, position, result)
        if text in _WORK_ITEM and after == ".":
            result += _work_item(token, tokens[position + 2].text)
            return position + 3
        if text in _CASTS and after == "<":
            return self._cast(tokens, position, result)
        if text == "std" and after == "::":
            return position + 2
        if after == "<" and self._template_call(tokens, position):
            raise PrintError(f"the template call of '{text}' has no counterpart in OpenCL C")
        if self._is_type(text):
            return self._type(tokens, position, result)
        if after == "(" and text not in _KEYWORDS:
            return self._call(tokens, position, result)
        result.append(token._replace(text=_RENAMED_WORDS.get(text, text)))
        return position + 1

    @staticmethod
    def _dynamic_shared(tokens: list[Token], position: int, result: list[Token]) -> int:
        """``extern __shared__ T name[];`` as an array whose extent a macro gives."""
        opened = next((i for i in range(position, len(tokens)) if tokens[i].text in ("[", ";")), len(tokens))
        if opened + 1 >= len(tokens) or tokens[opened + 1].text != "]":
            raise PrintError("extern __shared__ without [] has no counterpart in OpenCL C")
        start = position + 2
        if tokens[start].text in ("__align__", "alignas"):
            start = closing(tokens, start + 1) + 1
        ctype = opencl_type(" ".join(token.text for token in tokens[start : opened - 1]))
        like = tokens[position]
        text = f"__local {ctype} {tokens[opened - 1].text}[{DYNAMIC_SHARED} / sizeof({ctype})]"
        result.append(word(text, like, like.space))
        return opened + 2

    def _constant(self, tokens: list[Token], position: int, result: list[Token]) -> int:
        """``constexpr int N = 16;`` as an enumerator, so that it can be an array extent."""
        equals = next((i for i in range(position, len(tokens)) if tokens[i].text in ("=", ";")), len(tokens) - 1)
        end = next((i for i in range(equals, len(tokens)) if tokens[i].text in (",", ";")), len(tokens) - 1)
        if tokens[equals].text != "=" or tokens[end].text != ";":
            return position + 1
        like = tokens[position]
        result += [word("enum {", like, like.space), word(tokens[equals - 1].text, like), mark(" =", like)]
        result += [*self.run(tokens[equals + 1 : end]), mark(" };", like)]
        return end + 1

    @staticmethod
    def _template_call(tokens: list[Token], position: int) -> bool:
        end = closing_angle(tokens, position + 1)
        return end is not None and end + 1 < len(tokens) and tokens[end + 1].text == "("

    @staticmethod
    def _attribute(tokens: list[Token], position: int, result: list[Token]) -> int:
        end = closing(tokens, position + 1)
        if tokens[position].text in ("__align__", "alignas"):
            inner = tokens[position + 2 : end]
            like = tokens[position]
            result += [word("__attribute__", like, like.space), mark("((aligned", like), mark("(", like), *inner,
                       mark(")))", like)]  # fmt: skip
        return end + 1

    def _cast(self, tokens: list[Token], position: int, result: list[Token]) -> int:
        end = closing_angle(tokens, position + 1)
        if end is None:
            raise PrintError("cast without a type")
        stop = closing(tokens, end + 1)
        like = tokens[position]
        target = tokens[position + 2 : end]
        if canonical(" ".join(part.text for part in target)) in SHORT:
            inner = self.run(tokens[end + 2 : stop])
            result += [_rounding(target[0])._replace(space=like.space), mark("(", like), *inner, mark(")", like)]
            return stop + 1
        result += [mark("(", like)._replace(space=like.space), mark("(", like)]
        pointer = any(part.text == "*" for part in target)
        self._append_type(target, self._space(tokens, end + 1, stop) if pointer else "", result)
        inner = self.run(tokens[end + 2 : stop])
        result += [mark(")", like), mark("(", like), *inner, mark(")", like), mark(")", like)]
        return stop + 1

    def _type(self, tokens: list[Token], position: int, result: list[Token]) -> int:
        """A type: renamed; in front of a ``*`` with its address space; in front of ``(`` a conversion."""
        end = position
        while end < len(tokens) and (self._is_type(tokens[end].text) or self._named(tokens, position, end)):
            end += 1
        part = tokens[position:end]
        after = tokens[end].text if end < len(tokens) else ""
        if after == "(" and len(part) == 1 and part[0].text in _TYPE_WORDS and tokens[end + 1].text != "*":
            stop = closing(tokens, end)
            like = part[0]
            inner = self.run(tokens[end + 1 : stop])
            if canonical(like.text) in SHORT:
                result += [_rounding(like), mark("(", like), *inner, mark(")", like)]
                return stop + 1
            result += [mark("((", like)._replace(space=like.space), word(opencl_type(like.text), like, ""),
                       mark(")(", like), *inner, mark("))", like)]  # fmt: skip
            return stop + 1
        space = self._space(tokens, end, len(tokens)) if after == "*" else ""
        self._append_type(part, space, result)
        return end

    def _is_type(self, text: str) -> bool:
        return text in _TYPE_WORDS or text in VECTOR_TYPES or text in ("const", "volatile") or text in self.types

    @staticmethod
    def _named(tokens: list[Token], start: int, position: int) -> bool:
        """True for the type name behind ``const`` (``const Particle``)."""
        if position == start or tokens[position - 1].text not in ("const", "volatile"):
            return False
        after = tokens[position + 1] if position + 1 < len(tokens) else tokens[position]
        return tokens[position].kind == "word" and (after.kind == "word" or after.text == "*")

    @staticmethod
    def _append_type(part: Sequence[Token], space: str, result: list[Token]) -> None:
        words = [token.text for token in part if token.text not in ("const", "volatile", "*", "typename")]
        stars = [token for token in part if token.text == "*"]
        quals = [token.text for token in part if token.text in ("const", "volatile")]
        name = " ".join([*quals, *([space] if space else []), *([opencl_type(" ".join(words))] if words else [])])
        if part and name:
            result.append(part[0]._replace(text=name, kind="word"))
        result += stars

    def _space(self, tokens: Sequence[Token], start: int, stop: int) -> str:
        """Address space of the pointer that a declaration or cast makes, judged by the names it is made from."""
        position = start
        while position < stop and tokens[position].text != ";":
            name = tokens[position].text
            if tokens[position].kind == "word" and name in self.spaces:
                return self.spaces[name]
            position += 1
        return self.default

    def _call(self, tokens: list[Token], position: int, result: list[Token]) -> int:
        token = tokens[position]
        name = token.text
        end = closing(tokens, position + 1)
        args = [
            self.run([group[0]._replace(space=""), *group[1:]]) for group in split_commas(tokens[position + 2 : end])
        ]
        if name in BARRIERS:
            result += [word("barrier", token, token.space), mark("(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", token)]
            return end + 1
        if name.startswith("make_"):
            result += [
                mark("(", token)._replace(space=token.space),
                word(opencl_type(name[5:]), token, ""),
                mark(")", token),
            ]
        elif name == "__ldg" and len(args) == 1:
            result += [mark("(*(", token)._replace(space=token.space), *args[0], mark("))", token)]
            return end + 1
        elif name in BINARY and len(args) == 2:
            result += [mark("((", token)._replace(space=token.space), *args[0], mark(f") {BINARY[name]} (", token),
                       *args[1], mark("))", token)]  # fmt: skip
            return end + 1
        elif name in MATH or name in FAST:
            args = [[mark("(float)(", token), *arg, mark(")", token)] for arg in args]
            result.append(word(MATH.get(name) or FAST[name], token, token.space))
        elif name == "__threadfence" or name == "__threadfence_block":
            result += [word("mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", token, token.space)]
            return end + 1
        else:
            new = f"evo_{name}" if name in ATOMICS or name == "abs" else RENAMED.get(name, NAMES.get(name, name))
            result.append(word(new, token, token.space))
        result.append(mark("(", token))
        for number, arg in enumerate(args):
            result += ([mark(", ", token)] if number else []) + arg
        result.append(mark(")", token))
        return end + 1


def _rounding(token: Token) -> Token:
    """The function that rounds a float to the type of 16 bits that the token names."""
    return word(f"evo_float2{SHORT[canonical(token.text)]}", token, token.space)


def _work_item(token: Token, dim: str) -> list[Token]:
    text = f"((uint){_WORK_ITEM[token.text]}({'xyz'.index(dim)}))"
    return [word(text, token, token.space)]
