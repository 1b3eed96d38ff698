"""A visitor without a browser: speaks to the page's own listeners as gradio's client in a browser does."""

import contextlib
import json
import urllib.request
import uuid

from treeviz.view import BETWEEN


class Visitor:
    def __init__(self, address):
        self.api, self.session = address + "gradio_api", uuid.uuid4().hex
        self.config = json.load(urllib.request.urlopen(address + "config", timeout=60))
        self.listeners = {d["api_name"]: d for d in self.config["dependencies"]}
        self.components = {c["id"]: c for c in self.config["components"]}
        self.answers = None

    def component(self, **wanted):
        return next(c for c in self.components.values() if wanted.items() <= c["props"].items())

    def inputs(self, name, **changed):
        """What the form would send: every component's value, some of them changed by label."""
        parts = [self.components[i] for i in self.listeners[name]["inputs"]]
        return [changed.get((part["props"].get("label") or "").replace(" ", "_"), part["props"].get("value")) for part in parts]

    def send(self, name, data=()):
        """Ask a listener, in the queue or beside it. Returns the answer where there is one at once."""
        body = {"data": list(data), "fn_index": self.listeners[name]["id"], "session_hash": self.session, "trigger_id": None}
        where = "queue/join" if self.listeners[name]["queue"] else f"run/{name}"
        request = urllib.request.Request(f"{self.api}/{where}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def hear(self):
        """What the queue says, until all that was asked is answered. Closing it is what closing the tab does."""
        with contextlib.closing(urllib.request.urlopen(f"{self.api}/queue/data?session_hash={self.session}", timeout=120)) as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    said = json.loads(line[5:])
                    yield said
                    if said["msg"] in ("process_completed", "unexpected_error"):
                        return

    def ask(self, name, data=()):
        self.send(name, data)
        return list(self.hear())[-1]

    def decode(self, **changed):
        """Press Decode; what is heard comes as it happens."""
        self.send("begin")
        self.send("live", self.inputs("live", **changed))
        yield from self.hear()


def outcome(said):
    """(page lines, message in English) of a finished run."""
    lines, message = said["output"]["data"]
    return lines, message.partition(BETWEEN)[0]
