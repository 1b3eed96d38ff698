"""What a stranger's scripts may try on the line and on other people's runs. Each is bounded, and asks this machine only."""

import json
import re
import socket
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.browser.visitors import Visitor, last_message
from treeviz.page.runs import PER_ADDRESS
from treeviz.story.lines import trace_of

pytestmark = pytest.mark.timeout(170)
SMALL = dict(Pair="storybook", As_a_chat_message=False, top_k=3, depth=2, total_tokens=6, Prompt="Once upon a time", max_new_tokens=8)
LONG = dict(Prompt="abcdefgh", As_a_chat_message=False, max_new_tokens=2000)  # many times longer than these tests wait


def served(address):
    """An honest visitor comes, and gets what was asked for."""
    lines, message = Visitor(address).run(**SMALL)
    return message == "ok:Done." and trace_of(lines).summary.new_tokens == 8


def reach(visitor, word, **settings):
    heard = visitor.decode(**LONG | settings)
    assert any(word in json.dumps(said) for said in heard)
    return heard


def test_a_session_that_asks_twice_has_one_run(server):
    visitor, told = Visitor(server[0]), []
    wanted = iter((LONG, LONG, SMALL))
    visitor.send("live", visitor.inputs("live", **LONG))
    with visitor.open(f"{visitor.api}/queue/data?session_hash={visitor.session}", timeout=150) as stream:
        begun = set()
        for line in stream:
            if line.startswith(b"data:"):
                told.append(json.loads(line[5:]))
                if "run:live/" in json.dumps(told[-1]) and told[-1]["event_id"] not in begun:  # only then is its place in the line sure
                    begun.add(told[-1]["event_id"])
                    if settings := next(wanted, None):
                        visitor.send("live", visitor.inputs("live", **settings))
    ended = [said["event_id"] for said in told if said["msg"] == "process_completed"]
    assert len(set(ended)) == 4, "each was answered"
    lines, _ = visitor.outcome([said for said in told if said.get("event_id") == ended[-1]])
    assert trace_of(lines).summary.new_tokens == 8 and trace_of(lines).output.finish_reason == "length"
    assert json.dumps(told).count("ok:Done.") >= 1 and "broke off" not in json.dumps(told)


def test_stop_reaches_only_ones_own_run(server):
    victim, stranger = Visitor(server[0]), Visitor(server[0])
    running, told = victim.decode(**LONG), []
    for said in running:
        told.append(said)
        if "run:live/" in json.dumps(said):
            break
    stranger.send("stop")
    stranger.send("stop", session=victim.session[::-1])
    reference = re.search(r"run:live/[\w-]+", json.dumps(told))[0]
    with victim.open(f"{server[0]}treeviz/runs/{reference.removeprefix('run:')}?from=20") as lines:
        assert json.loads(lines.readline())["round"]["index"] == 19, "it goes on"
    victim.send("stop")
    assert last_message(list(running)) == "ok:Stopped."


def test_twenty_calls_that_nobody_listens_to_keep_nobody_out(server):
    crowd = Visitor(server[0])
    body = {"prompt": "abcdefgh", "chat": False, "max_new_tokens": 2000}
    events = [json.load(crowd.open(f"{crowd.api}/call/v2/decode", body))["event_id"] for _ in range(20)]
    assert served(server[0])
    answers = [crowd.open(f"{crowd.api}/call/v2/decode/{event}").read().decode() for event in events]
    assert all("event: error" in answer for answer in answers), "none of them went on decoding"
    refused = sum(f"{PER_ADDRESS} runs from your network are waiting already" in answer for answer in answers)
    assert refused >= 20 - PER_ADDRESS - 1, "one may have begun, and a few waited"


def test_twenty_streams_of_one_address_keep_nobody_out(server):
    first = Visitor(server[0])
    crowd = [Visitor(server[0], home=first.home) for _ in range(19)]
    with ThreadPoolExecutor(20) as pool:
        runs = [pool.submit(visitor.run, **LONG) for visitor in (first, *crowd)]
        while sum(run.done() for run in runs) < 20 - PER_ADDRESS - 1:
            time.sleep(0.1)
        refused = [run.result()[1] for run in runs if run.done()]
        assert served(server[0]), "after the run that goes on, before the others that wait"
        for visitor in (first, *crowd):
            visitor.send("stop")
        told = [run.result(120)[1] for run in runs]
    assert all("from your network are waiting already" in message for message in refused)
    assert set(told) - set(refused) <= {"ok:Stopped.", "ok:Done."}


def test_whoever_vanishes_makes_room(server):
    for _ in range(3):
        gone = Visitor(server[0])
        heard = reach(gone, "run:live/")
        heard.close()
    assert served(server[0])


def test_a_call_whose_listener_vanishes_ends(server):
    gone = Visitor(server[0])
    event = json.load(gone.open(f"{gone.api}/call/v2/decode", {"prompt": "abcdefgh", "chat": False, "max_new_tokens": 2000}))["event_id"]
    gone.open(f"{gone.api}/call/v2/decode/{event}").close()
    assert served(server[0])


def test_a_client_that_never_reads_keeps_nobody_out(server):
    """It asks, opens the stream and takes nothing from it; its run is as long as it may be, and then it ends."""
    silent = Visitor(server[0])
    silent.send("live", silent.inputs("live", **LONG | {"max_new_tokens": 40}))
    host, port = server[0].removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.sendall(f"GET /gradio_api/queue/data?session_hash={silent.session} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        assert served(server[0])


def test_a_run_is_read_again_from_where_the_connection_broke(server):
    visitor = Visitor(server[0])
    told = list(visitor.decode(**LONG | {"max_new_tokens": 30}))
    whole, message = visitor.outcome(told)
    assert message == "ok:Done."
    name = next(said["output"]["data"][0] for said in told if "run:live/" in json.dumps(said))
    name = name if isinstance(name, str) else name[0][2]
    for start in (0, 1, 3, whole.count("\n"), 10**6):
        assert visitor.lines(name, start) == "".join(line + "\n" for line in whole.split("\n")[start:-1])
    assert visitor.lines(name, "-1") == visitor.lines(name, "x") == whole, "what is no number is the beginning"
    recorded = visitor.lines("recorded/sky")
    assert visitor.lines("recorded/sky", 2) == recorded.split("\n", 2)[2]


@pytest.mark.parametrize("name", ["live/", "live/x", "live/../recorded/sky", "recorded/../../app.py", "recorded/nothing", "x/y"])
def test_only_runs_that_are_there_are_handed_out(server, name):
    with pytest.raises(urllib.error.HTTPError) as refused:
        Visitor(server[0]).lines(name)
    assert refused.value.code == 404
