"""Small HTML pieces; every text that comes from outside goes through ``text``."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape


def text(value: object) -> str:
    """Escaped text."""
    return escape(str(value), quote=True)


def code(value: object) -> str:
    """Inline code."""
    return f"<code>{text(value)}</code>"


def section(title: str, *body: str) -> str:
    """A titled box; empty where there is no body."""
    inner = "\n".join(part for part in body if part)
    return f"<section><h2>{text(title)}</h2>\n{inner}</section>" if inner else ""


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    """A table of ready markup; ``numeric`` columns stand to the right."""
    if not rows:
        return ""
    css = [' class="n"' if number in numeric else "" for number in range(len(titles))]
    head = "".join(f"<th{css[n]}>{text(title)}</th>" for n, title in enumerate(titles))
    marks = [f'{css[n]} data-title="{text(title)}"' for n, title in enumerate(titles)]  # shown on narrow screens
    cells = [[f"<td{marks[n]}><div>{cell}</div></td>" for n, cell in enumerate(row)] for row in rows]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def picture(png: bytes, alt: str, caption: str) -> str:
    """A PNG inside the page."""
    data = base64.b64encode(png).decode()
    return (f'<figure><div class="scroll"><img src="data:image/png;base64,{data}" alt="{text(alt)}"></div>'
            f"<figcaption>{text(caption)}</figcaption></figure>")  # fmt: skip


def bar(share: float) -> str:
    """A horizontal bar for a share of 0..1."""
    return f'<div class="bar"><i style="width:{max(0.0, min(1.0, share)):.1%}"></i></div>'


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """A list of names and ready markup."""
    rows = "".join(f"<dt>{text(name)}</dt><dd>{value}</dd>" for name, value in pairs if value)
    return f"<dl>{rows}</dl>" if rows else ""


def bullets(items: Sequence[str]) -> str:
    """A list of ready markup."""
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>" if items else ""
