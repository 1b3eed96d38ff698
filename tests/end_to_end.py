"""A whole run over HTTP, as somebody else's program would make it: `python -m tests.end_to_end http://localhost:7860/`.

The app must be running with the storybook pair. Its named endpoint is asked for a run; what comes back must be a sound
trace, and its tokens those of plain decoding.
"""

import itertools
import sys

from gradio_client import Client

from core import DecodeConfig, Trace, load_named
from core.measure.plain import plain

PROMPT = "Once upon a time"


def visit(address: str) -> Trace:
    """Raises AssertionError where the app does not do what the README says of it."""
    client = Client(address, verbose=False)
    public = client.view_api(print_info=False, return_format="dict")
    assert list(public["named_endpoints"]) == ["/decode", "/cost", "/sweep"] and not public["unnamed_endpoints"], "only documented endpoints"
    offered = {p["parameter_name"] for p in public["named_endpoints"]["/decode"]["parameters"]}
    assert {"prompt", "chat", "top_k", "depth", "total_tokens", "temperature", "max_new_tokens", "seed"} <= offered, offered

    document = client.predict(PROMPT, chat=False, top_k=6, depth=4, total_tokens=30, max_new_tokens=40, api_name="/decode")
    trace = Trace.from_dict(document)
    assert trace.prompt.text == PROMPT and trace.summary.new_tokens == 40 and trace.summary.tau > 2

    pair = load_named("storybook", device="cpu")
    plainly = plain(pair, trace.prompt.token_ids, DecodeConfig(max_new_tokens=40))
    assert trace.output.token_ids == [token for _, token in itertools.islice(plainly, 40)], "not what plain decoding says"
    return trace


if __name__ == "__main__":
    visited = visit(sys.argv[1])
    visited.save(sys.argv[2])
    print(f"end to end: {visited.summary.new_tokens} tokens in {visited.summary.rounds} rounds, as plain decoding: "
          f"{visited.output.text!r}")
