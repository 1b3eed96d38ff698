"""The README, taken apart: what it says can then be tried."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
_, FRONT, BODY = TEXT.split("---\n", 2)  # what a Space reads, and what a person does


def blocks(language):
    """The fenced blocks in a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", BODY, re.DOTALL | re.MULTILINE)


def section(title):
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", BODY, re.DOTALL | re.MULTILINE).group(1)


def commands():
    """Every `python -m core ...` of the README with its further lines: (command, its flags)."""
    text = re.sub(r"\n {8,}", " ", BODY)  # a command's further lines stand further in
    for line in text.splitlines():
        for command, rest in re.findall(r"-m core ([a-z-]+)([^`\n]*)", line):
            yield command, re.findall(r"--[a-z-]+", rest)
