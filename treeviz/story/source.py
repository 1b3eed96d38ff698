"""The source of every step, taken as text from the files of `core/`: nothing of it is imported or run."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from .frames import FRAMES

HOME = Path(__file__).resolve().parents[2]


@cache
def sources() -> dict[str, dict]:
    """{code key: {file, function, first, lines, marks}}; a function that cannot be found is left out."""
    found = {key: _function(*where) for key, (*where, _) in FRAMES.items()}
    return {key: source for key, source in found.items() if source}


def _function(file: str, name: str, mark: str) -> dict | None:
    try:
        text = (HOME / file).read_text(encoding="utf-8")
        node: ast.AST = ast.parse(text)
        for part in name.split("."):
            node = next(child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == part)
    except (OSError, SyntaxError, StopIteration):
        return None
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    lines = text.split("\n")[first - 1:node.end_lineno]
    body = node.body[1:] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body
    start = body[0].lineno - first
    indent = len(lines[0]) - len(lines[0].lstrip())
    marks = [i for i, line in enumerate(lines) if i >= start and re.search(mark, line)]
    return {"file": file, "function": name, "first": first, "lines": [line[indent:] for line in lines], "marks": marks}
