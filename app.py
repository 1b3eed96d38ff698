"""TreeViz: step inside EAGLE-2 in a browser. `python app.py` opens on a recorded run, with no model loaded."""

import argparse
import os
import sys
from contextlib import nullcontext

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # before gradio is imported: nothing leaves this machine


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        """One sentence, as for any other bad input."""
        from core.common.ink import LINES, visible
        self.exit(2, f"{visible(message, LINES).rstrip('.')}; {self.prog} --help lists what there is.\n")


def flags() -> argparse.ArgumentParser:
    parser = Parser(description=__doc__)
    parser.add_argument("--port", type=int, help="default: the first free one from 7860")
    parser.add_argument("--host", help="localhost; 0.0.0.0 lets other machines in (a Space does)")
    parser.add_argument("--trace", type=os.path.expanduser, metavar="FILE", help="open with this trace")
    parser.add_argument("--demo", action="store_true", help="recorded runs only, no decoding")
    parser.add_argument("--pair", default="smollm2-135m", help="the named pair that decodes")
    parser.add_argument("--target", type=os.path.expanduser, metavar="DIR", help="instead of --pair: a Llama ...")
    parser.add_argument("--draft", type=os.path.expanduser, metavar="DIR", help="... and its EAGLE head")
    parser.add_argument("--target-embedding", action="store_true", help="the head reads the target's embedding, not its own")
    parser.add_argument("--chat-template", type=os.path.expanduser, metavar="NAME-or-FILE",
                        help="what prompts are wrapped in, instead of the tokenizer's own")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:N")
    parser.add_argument("--allow-host", metavar="NAME", action="append", default=[],
                        help="a name under which a proxy or other machines see this page")
    parser.add_argument("--allow-frame", metavar="ORIGIN", action="append", default=[],
                        help="a site that may put this page into a frame, such as https://example.org")
    parser.add_argument("--max-new-tokens-limit", type=int, metavar="N",
                        help="the longest run that the page decodes (2048; 512 where other machines may come in)")
    parser.add_argument("--threads", type=int, help="of a CPU; one for small models, else all, unless this says so")
    parser.add_argument("--share", action="store_true", help="a public link through gradio's servers")
    return parser


def main() -> int:
    parser = flags()
    args = parser.parse_args()
    if bool(args.target) != bool(args.draft):
        parser.error("--target and --draft go together; give both, or --pair.")
    if args.max_new_tokens_limit is not None and args.max_new_tokens_limit < 1:
        parser.error(f"--max-new-tokens-limit is {args.max_new_tokens_limit}; give 1 or more.")
    if args.port is not None and not 0 < args.port < 65536:
        parser.error(f"--port is {args.port}; give a number from 1 to 65535.")
    from core.common.ink import sentence
    from core.errors import UserError
    try:
        from treeviz.page.scratch import scratch
        with scratch() as files:  # before gradio is imported, which looks where it is
            return serve(args, files.sweep)
    except ModuleNotFoundError as error:
        print(f"The Python package {error.name} is not installed; run pip install -r requirements.txt.", file=sys.stderr)
    except UserError as error:
        print(sentence(error), file=sys.stderr)
    return 2


def serve(args: argparse.Namespace, sweep) -> int:
    """Build the page and serve it until Ctrl-C. `sweep` keeps the temporary files few. Raises UserError."""
    from core.errors import UserError
    from core.model.threads import choose
    from core.pairs.named import named
    from treeviz.page.machine import address_of, free_port, local_is_direct, no_proxies, taken
    from treeviz.page.space import host, hosted
    choose(args.threads)
    named(args.pair)
    address = address_of(args.host or host())
    port = free_port(address, args.port)
    local_is_direct(address)
    with no_proxies():
        from treeviz.page.blocks import Options, build_page
        from treeviz.page.choices import LONGEST_RUN, Source
        from treeviz.page.connections import bound_connections
        from treeviz.page.door import behind_door, guests, listens_here
    private = listens_here(address)
    longest = args.max_new_tokens_limit or LONGEST_RUN[private and not args.share]
    source = Source(args.pair, args.target, args.draft, args.device, args.target_embedding, args.chat_template, longest)
    demo, settings = build_page(Options(source, args.demo, args.trace))
    try:
        settings = behind_door(settings, guests(address, args.allow_host, args.allow_frame, args.share), sweep)
        if not hosted() and not private:
            print("Whoever reaches this machine can use this page: there is no password.", flush=True)
        with nullcontext() if args.share else no_proxies():
            demo.launch(server_name=address, server_port=port, share=args.share, prevent_thread_lock=True, **settings)
    except OSError:  # it was free a moment ago
        raise UserError(taken(address, port)) from None
    bound_connections(demo.server)
    demo.block_thread()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # while it loads; later, gradio's own launch ends the server
        sys.exit(130)
