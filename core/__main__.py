"""python -m core: the command line (`cli/main.py`)."""

import signal
import sys

if __name__ == "__main__":
    if not __package__:
        sys.exit("error: This is a package; run it as python -m core, from the repository's root.")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the program without a word while its modules load
    from .cli.main import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
