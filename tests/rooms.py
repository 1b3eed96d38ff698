"""Who imports whom, read from the source: rooms are folders, a file at the door is a room of its own."""

from __future__ import annotations

import ast
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A file may import what is before it, and its own room. Rooms of one line stand side by side: neither imports the other.
ORDER = {
    "core": ("errors", "version", "common", "tree", "verify", "policies", "config", "model", "limits", "decoder", "trace",
             "pairs", "measure", "train", "storybook", "cli", "__main__"),
    "treeviz": ("story", "figures graph view", "page"),
}
RANK = {top: {room: i for i, beside in enumerate(order) for room in beside.split()} for top, order in ORDER.items()}


def module_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def file_of(module: str, root: Path) -> str:
    """The file that holds a module, or a name of it: core.model.head.Head is core/model/head.py."""
    parts = module.split(".")
    for n in range(len(parts), 0, -1):
        for path in ("/".join(parts[:n]) + ".py", "/".join([*parts[:n], "__init__.py"])):
            if (root / path).is_file():
                return path
    return module


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
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif (isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module"
              and node.args and isinstance(node.args[0], ast.Constant)):
            yield resolve_name(node.args[0].value, package)


def first_use(top: str, root: Path) -> dict[str, str]:
    """What the door hands on when it is asked for: {core.decode: core.trace.record}."""
    door = root / top / "__init__.py"
    for node in ast.parse(door.read_text(encoding="utf-8")).body if door.is_file() else ():
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_HOME":
            return {f"{top}.{name}": f"{top}.{home}" for name, home in ast.literal_eval(node.value).items()}
    return {}


def room_of(module: str, top: str) -> str | None:
    """The room of core.model.head is model; core itself is none."""
    parts = module.split(".")
    return parts[1] if parts[0] == top and len(parts) > 1 and parts[1] in RANK[top] else None


def arrows(top: str, root: Path = ROOT) -> dict[tuple[str, str], list[tuple[Path, str]]]:
    """(room, imported room) -> the files that do, each with the module that it imports. The own room is not counted."""
    found: dict[tuple[str, str], list[tuple[Path, str]]] = {}
    homes = first_use(top, root)
    for path in sorted((root / top).rglob("*.py")):
        here = room_of(module_of(path, root), top)
        for name in imported(path, root):
            name = homes.get(name, name)
            there = room_of(name, top)
            if here and there and here != there:
                found.setdefault((here, there), []).append((path.relative_to(root), name))
    return found


def climbing(top: str, root: Path = ROOT) -> list[str]:
    """A line for every import that goes against the order, with both files."""
    found = [f"{path} imports {file_of(name, root)}, which comes after it or stands beside it"
             for (here, there), places in arrows(top, root).items() if RANK[top][there] >= RANK[top][here]
             for path, name in places]
    return list(dict.fromkeys(found))  # several names of a module are one import


def reduced(top: str) -> set[tuple[str, str]]:
    """The arrows that do not follow from others."""
    direct: dict[str, set[str]] = {}
    for here, there in arrows(top):
        direct.setdefault(here, set()).add(there)

    def reach(room: str) -> set[str]:
        return set().union(*({there} | reach(there) for there in direct.get(room, ())))

    return {(here, there) for here, others in direct.items() for there in others
            if not any(there in reach(other) for other in others - {there})}
