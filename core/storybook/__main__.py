"""Print stories, or openings as prompts.

    python -m core.storybook --seed 7
    python -m core.storybook --stories 300 > stories.jsonl        text to train a head on
    python -m core.storybook --openings 20 > openings.jsonl

Seeds below 100,000 are never trained on.
"""

from __future__ import annotations

import argparse
import json

from .tell import opening, story


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m core.storybook", description="The generator that the storybook pair learned from.")
    parser.add_argument("--seed", type=int, default=0, help="which story, or the first one (0)")
    parser.add_argument("--stories", type=int, metavar="N", help="print N stories as JSON lines instead")
    parser.add_argument("--openings", type=int, metavar="N", help="print N openings of 12 words as JSON lines instead")
    args = parser.parse_args()
    if args.openings is None and args.stories is None:
        print(story(args.seed))
    for seed in range(args.seed, args.seed + (args.stories or 0)):
        print(json.dumps({"text": story(seed)}))
    for seed in range(args.seed, args.seed + (args.openings or 0)):
        print(json.dumps({"prompt": opening(seed)}))


if __name__ == "__main__":
    main()
