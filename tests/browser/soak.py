"""The page under load, measured: what its memory does, and what becomes of honest visitors beside a hostile one.

    python -m tests.browser.soak memory             300 small and 30 large runs by 30 sessions
    python -m tests.browser.soak crowd --minutes 5  thirty visitors, five of them decoding, and one hostile

Starts the app itself, asks this machine only, and ends by itself. A measurement, not a test: nothing is asserted.
"""

import argparse
import contextlib
import json
import random
import re
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.browser.visitors import Visitor
from tests.served import STORYBOOK, served
from treeviz.page.gallery import recorded
from treeviz.story.lines import trace_of

SMALL = dict(Pair="storybook", As_a_chat_message=False, max_new_tokens=64)
LARGE = dict(Pair="storybook", As_a_chat_message=False, top_k=16, depth=10, total_tokens=900, max_new_tokens=200)
BEGINNINGS = ("Once upon a time", "One morning a small fox", "The old king", "In the garden")


def memory(process) -> float:
    """MiB that the server holds."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) / 1024


def measure_memory(address, process, _) -> None:
    visitors, before = [Visitor(address) for _ in range(30)], memory(process)
    print(f"before the first run {before:.0f} MiB")

    def decode(number, settings):
        lines, message = visitors[number % 30].run(**settings, Prompt=f"{BEGINNINGS[number % 4]}, {number}")
        assert message.startswith("ok:Done."), message
        return len(lines)

    for number in range(5):
        decode(number, SMALL)
        decode(number, LARGE)
    first = memory(process)
    print(f"after the first ten runs, five of them large, {first:.0f} MiB")
    for name, settings, count in (("small", SMALL, 300), ("large", LARGE, 30)):
        began, sizes = time.monotonic(), []
        for number in range(count):
            sizes.append(decode(number, settings))
            if number % (count // 3) == 0:
                print(f"  {number} {name}: {memory(process) - first:+.0f} MiB", flush=True)
        print(f"{count} {name} runs, {statistics.mean(sizes) / 2**20:.2f} MiB of lines each, "
              f"{time.monotonic() - began:.0f} s: {memory(process) - first:+.0f} MiB since the first ten")
    time.sleep(5)
    print(f"after the last, {memory(process) - first:+.0f} MiB since the first ten")


def crowd(address, process, minutes) -> None:
    end, runs = time.monotonic() + 60 * minutes, recorded()
    told, waits, lock = {"read": 0, "decoded": 0, "wrong": [], "hostile": 0}, [], threading.Lock()

    def until_the_end(work, *settings):
        while time.monotonic() < end:
            try:
                work(*settings)
            except Exception as error:
                with lock:
                    told["wrong"].append(f"{work.__name__}: {error!r}")
                time.sleep(1)

    def read(visitor):
        run = random.choice(runs)
        lines = visitor.lines(visitor.ask("pick", [run.sentence])["output"]["data"][0])
        assert json.loads(lines.partition("\n")[0])["page"]["name"] == run.name
        with lock:
            told["read"] += 1
        time.sleep(random.uniform(0.5, 3))

    def decode(visitor):
        began, prompt = time.monotonic(), f"{random.choice(BEGINNINGS)}, {random.random()}"
        lines, message = visitor.run(**SMALL, Prompt=prompt)
        trace = trace_of(lines)
        assert message.startswith("ok:Done.") and trace.prompt.text == prompt and trace.output.finish_reason in ("length", "eos")
        with lock:
            told["decoded"] += 1
            waits.append(time.monotonic() - began)

    def harm(visitor):
        """Calls that nobody listens to, streams that vanish, a session used many times at once, calls of nonsense. Much of it
        is refused, which is what is wanted."""
        body = {"prompt": "Once upon a time", "chat": False, "max_new_tokens": 500, "top_k": 16, "depth": 10, "total_tokens": 900}
        asked = [lambda n=n: visitor.open(f"{visitor.api}/call/v2/decode", body | ({"pair": {}} if n == 7 else {})).close()
                 for n in range(20)]
        asked += [lambda: visitor.send("live", visitor.inputs("live", **LARGE, Prompt="Once"))] * 3
        asked += [lambda: visitor.lines("live/" + "x" * 22), lambda: next(visitor.hear())]
        for ask in asked:
            with contextlib.suppress(OSError):
                ask()
        with lock:
            told["hostile"] += 1
        time.sleep(2)

    visitors, before = [Visitor(address) for _ in range(31)], memory(process)
    with ThreadPoolExecutor(31) as pool:
        for visitor in visitors[:25]:
            pool.submit(until_the_end, read, visitor)
        for visitor in visitors[25:30]:
            pool.submit(until_the_end, decode, visitor)
        pool.submit(until_the_end, harm, visitors[30])
    print(f"{told['read']} runs read, {told['decoded']} decoded, {told['hostile']} rounds of harm, {len(told['wrong'])} errors")
    if waits:
        print(f"from Decode to the end: median {statistics.median(waits):.1f} s, longest {max(waits):.1f} s")
    print(f"memory {before:.0f} -> {memory(process):.0f} MiB")
    for error in told["wrong"][:10]:
        print(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("memory", "crowd"))
    parser.add_argument("--minutes", type=float, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), *STORYBOOK) as app:
        address = f"http://localhost:{app.port}/"
        {"memory": measure_memory, "crowd": crowd}[args.what](address, app.process, args.minutes)
        log = app.log.read_text()
        print("in the server's log:", log.count("Traceback"), "tracebacks")
        print(log[-2000:] if "Traceback" in log else "")


if __name__ == "__main__":
    main()
