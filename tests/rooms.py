"""Who imports whom, read from the source: rooms are folders, a file at the door is a room of its own."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A file may import what is before it, and its own room.
ORDER = {
    "core": ("errors", "version", "common", "tree", "verify", "policies", "config", "model", "limits", "decoder", "trace",
             "pairs", "measure", "train", "storybook", "cli", "__main__"),
    "treeviz": ("story", "figures", "view", "page"),
}


def module_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, root: Path):
    """The names of modules that a file imports, anywhere in it: absolute, relative, and by a literal name."""
    module = module_of(path, root)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif (isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module"
              and node.args and isinstance(node.args[0], ast.Constant)):
            yield node.args[0].value.lstrip(".") if not node.args[0].value.startswith(".") else package + node.args[0].value


def room_of(module: str, top: str, rooms: tuple[str, ...]) -> str | None:
    """The room of core.model.head is model; of core itself, which only loads names on first use, there is none."""
    parts = module.split(".")
    return parts[1] if parts[0] == top and len(parts) > 1 and parts[1] in rooms else None


def arrows(top: str, root: Path = ROOT) -> dict[tuple[str, str], tuple[Path, str]]:
    """(room, imported room) -> a file that does, and the module that it imports. Own room not counted."""
    found = {}
    for path in sorted((root / top).rglob("*.py")):
        here = room_of(module_of(path, root), top, ORDER[top])
        for name in imported(path, root):
            there = room_of(name, top, ORDER[top])
            if here and there and here != there:
                found.setdefault((here, there), (path.relative_to(root), name))
    return found


def climbing(top: str, root: Path = ROOT) -> list[str]:
    """A line for every import that goes against the order."""
    place = {room: i for i, room in enumerate(ORDER[top])}
    return [f"{path} imports {name}, which comes after it" for (here, there), (path, name) in arrows(top, root).items()
            if place[there] > place[here]]


def reduced(top: str) -> set[tuple[str, str]]:
    """The arrows that do not follow from others."""
    direct: dict[str, set[str]] = {}
    for here, there in arrows(top):
        direct.setdefault(here, set()).add(there)

    def reach(room: str) -> set[str]:
        return set().union(*({there} | reach(there) for there in direct.get(room, ())))

    return {(here, there) for here, others in direct.items() for there in others
            if not any(there in reach(other) for other in others - {there})}
