"""A visitor without a browser: speaks to the page's own listeners as gradio's client in a browser does."""

import contextlib
import functools
import http.client
import itertools
import json
import re
import sys
import urllib.request
import uuid

from treeviz.view import BETWEEN

_homes = itertools.count(2)


class From(urllib.request.HTTPHandler):
    """Connections that come from one of this machine's own addresses (Linux has 16 million of them)."""

    def __init__(self, home):
        super().__init__()
        self.home = home

    def http_open(self, request):
        return self.do_open(functools.partial(http.client.HTTPConnection, source_address=(self.home, 0)), request)


class Visitor:
    """Somebody with an address of their own, or with the one given."""

    def __init__(self, address, home=None):
        number = next(_homes)
        self.home = home or (f"127.0.{number // 250}.{number % 250 + 2}" if sys.platform == "linux" else "127.0.0.1")
        self.opener = urllib.request.build_opener(From(self.home))
        self.address, self.api, self.session = address, address + "gradio_api", uuid.uuid4().hex
        self.config = json.load(self.open(address + "config"))
        self.listeners = {d["api_name"]: d for d in self.config["dependencies"]}
        self.components = {c["id"]: c for c in self.config["components"]}

    def open(self, url, body=None, timeout=60):
        data = None if body is None else json.dumps(body).encode()
        return self.opener.open(urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=timeout)

    def component(self, **wanted):
        return next(c for c in self.components.values() if wanted.items() <= c["props"].items())

    def inputs(self, name, **changed):
        """What the form would send: every component's value, some of them changed by label."""
        parts = [self.components[i] for i in self.listeners[name]["inputs"]]
        return [changed.get((part["props"].get("label") or "").replace(" ", "_"), part["props"].get("value")) for part in parts]

    def send(self, name, data=(), session=None):
        """Ask a listener, in the queue or beside it. Returns the answer where there is one at once."""
        body = {"data": list(data), "fn_index": self.listeners[name]["id"], "session_hash": session or self.session, "trigger_id": None}
        where = "queue/join" if self.listeners[name]["queue"] else f"run/{name}"
        with self.open(f"{self.api}/{where}", body) as response:
            return json.load(response)

    def hear(self):
        """What the queue says, until all that was asked is answered. Closing it is what closing the tab does."""
        with contextlib.closing(self.open(f"{self.api}/queue/data?session_hash={self.session}", timeout=170)) as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    said = json.loads(line[5:])
                    yield said
                    if said["msg"] in ("process_completed", "unexpected_error", "close_stream"):
                        return

    def ask(self, name, data=()):
        self.send(name, data)
        return list(self.hear())[-1]

    def decode(self, **changed):
        """Press Decode; what is heard comes as it happens."""
        self.send("live", self.inputs("live", **changed))
        yield from self.hear()

    def lines(self, reference, start=0):
        """The page lines behind a reference, to their end."""
        with self.open(f"{self.address}treeviz/runs/{reference.removeprefix('run:')}?from={start}", timeout=170) as stream:
            return stream.read().decode()

    def run(self, **changed):
        """(page lines, last message in English) of a run from Decode to its end; no lines where there was none to read."""
        return self.outcome(list(self.decode(**changed)))

    def outcome(self, told):
        """The same, of all that was heard."""
        reference = re.search(r"run:live/[\w-]+", json.dumps(told))
        return self.lines(reference[0]) if reference else "", last_message(told)


def last_message(told):
    """What the form's message says in the end, in English."""
    return told[-1]["output"]["data"][1].partition(BETWEEN)[0]
