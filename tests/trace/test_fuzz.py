"""A few of the mutated files of `tests/fuzz.py`, always the same: none is a traceback."""

import pytest

from tests import fuzz


@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_file_is_shown_or_refused_by_a_sentence(tmp_path, seed):
    mutator, path, verdicts = fuzz.Mutator(seed), tmp_path / "trace", []
    for _ in range(60):
        _, data = mutator.file()
        path.write_bytes(data)
        verdicts.append(fuzz.judge(path))
    assert set(verdicts) == {"taken", "refused"}, "the files are damaged, but not beyond anything"
