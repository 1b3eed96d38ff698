"""The README's recipe for a pair, followed in a copy: three files, and the pair is listed, tried and offered."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAST = ")}\n"  # of PAIRS
ENTRY = """    official("mine-1b", "me/Mine-1B", "me/EAGLE-Mine-1B", "MIT", "2 GB"),
"""
ROW = """ONE["mine-1b"] = ONE["llama3-8b"]
"""


def edit(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_pair_of_the_hub_is_three_files(tmp_path):
    for name in ("core", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name,
                        ignore=shutil.ignore_patterns("__pycache__", "browser", "golden"))
    for name in ("treeviz", "assets", "app.py", "pyproject.toml", "requirements.txt", ".ci", "LICENSE", "NOTICE"):
        os.symlink(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "README.md", tmp_path)

    edit(tmp_path / "core/pairs/named.py", LAST, ENTRY + LAST)
    edit(tmp_path / "README.md", "; they want a GPU", ", `mine-1b`; they want a GPU")
    row = 'ONE["llama3.2-3b"] = ONE["llama3.2-1b"]\n'
    edit(tmp_path / "tests/pairs/test_official_pairs.py", row, row + ROW)

    listed = subprocess.run([sys.executable, "-m", "core", "pairs"], cwd=tmp_path, capture_output=True, text=True)
    assert "mine-1b         to fetch  me/Mine-1B with me/EAGLE-Mine-1B, 2 GB to fetch" in listed.stdout
    tried = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/pairs/test_official_pairs.py",
         "tests/page/test_choices.py", "tests/test_readme.py", "-k", "mine-1b or every_official_pair or offered or named_pair"],
        cwd=tmp_path, capture_output=True, text=True)
    assert tried.returncode == 0 and "4 passed" in tried.stdout, tried.stdout
