"""`app.py`, its target slowed down: on a fast machine a run of the toy pair is over before a test could stop it."""

import sys
import time

import app
from treeviz.page.live import Engine

PAUSE = 0.03  # seconds a round


def slowed(fetch):
    def slow(self, name, progress):
        pair = fetch(self, name, progress)
        verify = pair.target.verify

        def paused(*inputs):
            time.sleep(PAUSE)
            return verify(*inputs)

        pair.target.verify = paused
        return pair
    return slow


if __name__ == "__main__":
    Engine._fetch = slowed(Engine._fetch)
    sys.exit(app.main())
