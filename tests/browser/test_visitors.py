"""The named endpoint, and several visitors at once, through gradio's own client."""

import threading

import pytest

from core.trace import Trace

pytestmark = pytest.mark.timeout(170)
gradio_client = pytest.importorskip("gradio_client")


@pytest.fixture(scope="module")
def client(server):
    return gradio_client.Client(server[0], verbose=False)


def test_only_decode_is_public(client):
    assert list(client.view_api(return_format="dict")["named_endpoints"]) == ["/decode"]


def test_decode_returns_a_trace(client):
    document = client.predict("abcdefgh", chat=False, max_new_tokens=12, top_k=4, depth=2, total_tokens=12, api_name="/decode")
    trace = Trace.from_dict(document)
    assert trace.summary.new_tokens == 12 and trace.prompt.text == "abcdefgh" and trace.config["depth"] == 2


@pytest.mark.parametrize("settings, word", [(dict(chat=True), "chat template"), (dict(total_tokens=9999), "total_tokens"),
                                            (dict(temperature=-1.0, chat=False), "temperature")])
def test_bad_input_is_a_sentence(client, settings, word):
    with pytest.raises(gradio_client.exceptions.AppError, match=word):
        client.predict("abc", **settings, api_name="/decode")


def test_everyone_gets_their_own_run(server):
    got = {}

    def visitor(prompt):
        client = gradio_client.Client(server[0], verbose=False)
        got[prompt] = client.predict(prompt, chat=False, max_new_tokens=10, api_name="/decode")

    prompts = ["abcd", "efgh", "ijkl", "mnop"]
    threads = [threading.Thread(target=visitor, args=(p,)) for p in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert {p: got[p]["prompt"]["text"] for p in prompts} == {p: p for p in prompts}
