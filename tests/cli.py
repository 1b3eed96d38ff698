"""Calling the command line in this process, on small pairs."""

from pair_maker import GOLDEN, make_head, make_target
from toy_tokenizers import byte_level

from core.cli.main import main

PAIR = ["--target", str(GOLDEN / "weights/target"), "--draft", str(GOLDEN / "weights/head_bias"), "--device", "cpu"]
IDS = ["--ids", "5,17,3,8"]
FEW = ["--max-new-tokens", "12", "--top-k", "4", "--depth", "3"]


def talking_pair(tmp_path_factory):
    """A pair with a tokenizer and a chat template, as flags."""
    folder = tmp_path_factory.mktemp("talking")
    target = make_target(folder / "target", vocab_size=300)
    byte_level().save_pretrained(target)
    return ["--target", str(target), "--draft", str(make_head(folder / "head", target)), "--device", "cpu"]


def call(capsys, *argv):
    """Exit code, stdout, stderr."""
    capsys.readouterr()
    code = main([str(part) for part in argv])
    out, err = capsys.readouterr()
    return code, out, err


def decode(capsys, *argv):
    """A run that must succeed: stdout."""
    code, out, err = call(capsys, "run", *argv)
    assert code == 0 and err == "", err
    return out


def refused(capsys, argv, *words):
    """Exit code 2, nothing but one sentence on stderr, holding the words."""
    code, out, err = call(capsys, *argv)
    assert code == 2, (out, err)
    assert err.startswith("error: ") and err.count("\n") == 1 and err.endswith(".\n"), err
    for word in words:
        assert str(word) in err, err
    return out
