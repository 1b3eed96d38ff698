"""A server of our own that hands out one file, as badly as a test asks for."""

import hashlib
import http.server
import threading

import pytest

from core.pairs.fetch import FetchError

DATA = bytes(i * 7 % 251 for i in range(3_000_000))
SHA = hashlib.sha256(DATA).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves DATA, as badly as the server's `manners` ask for."""

    def do_GET(self):
        manners, start = self.server.manners, 0
        self.server.asked.append(self.headers.get("Range"))
        self.server.secrets.append(self.headers.get("Authorization"))
        if "json" in manners:
            return self.answer(200, manners["json"].encode())
        if "status" in manners:
            return self.answer(manners["status"], b"no")
        if self.headers.get("Range") and not manners.get("no_range"):
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if start >= len(DATA):
                return self.answer(416, b"")
        body = manners.get("body", DATA)[start:]
        length = None if manners.get("no_length") else len(body)
        self.answer(206 if start else 200, body[: manners.pop("break_after", len(body))], length)

    def answer(self, status, body, length=-1):
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(len(body) if length < 0 else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.manners, server.asked, server.secrets = {}, [], []
        server.url = f"http://127.0.0.1:{server.server_address[1]}/file.bin"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def refused(call, *words):
    """`call` raises a FetchError of one sentence that holds the words."""
    with pytest.raises(FetchError) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith(".") and ";" in sentence, sentence
    for word in words:
        assert word in sentence, sentence
