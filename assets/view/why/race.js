// Plain decoding and the tree on one clock, from the measured seconds of this very run. A lane is a list of segments,
// one after the other: {kind, from, to, round, tokens}, where `tokens` are out when it has ended. Kinds: prompt, head
// (drafting), target (its pass over the tree), rest (tree, acceptance, cache), plain (a pass over one row).

const lane = () => {
  const segments = [];
  let at = 0;
  return {
    segments,
    add(kind, seconds, tokens, round = null) {
      segments.push({kind, from: at, to: (at += seconds), round, tokens});
    },
  };
};

// {tree, plain, free} of a `clock` (`clock.js`), the last two null where nothing tells what a plain pass takes. The
// plain lane writes the same number of tokens; `free` is the tree's if a pass over all its rows took as long as one.
export const race = ({plain, prompt, rounds, tokens, moments}) => ({
  tree: treeLane(prompt, rounds, null),
  plain: plain && plainLane(moments ?? Array.from({length: tokens}, (_, i) => prompt + i * plain)),
  free: plain && treeLane(prompt, rounds, plain),
});

const treeLane = (prompt, rounds, most) => {
  const {segments, add} = lane();
  let out = 1;
  add('prompt', prompt, out);
  rounds.forEach(({seconds, tokens}, round) => {
    const {draft, tree, verify, accept, commit} = seconds;
    if (draft) add('head', draft, out, round);
    add('target', Math.min(verify, most ?? verify), out, round);
    add('rest', tree + accept + commit, (out += tokens), round);
  });
  return segments;
};

const plainLane = moments => {
  const {segments, add} = lane();
  moments.forEach((at, i) => add(i ? 'plain' : 'prompt', at - (moments[i - 1] ?? 0), i + 1));
  return segments;
};

export const lasts = segments => segments.at(-1)?.to ?? 0;

// Tokens that are out at a time.
export const outAt = (segments, time) => segments.findLast(({to}) => to <= time)?.tokens ?? 0;

// How far the slower is behind when the faster has ended, in tokens; 0 of a tie. {ahead: 'tree' | 'plain', tokens}
export const margin = ({tree, plain}) => {
  const ahead = lasts(tree) <= lasts(plain) ? 'tree' : 'plain',
    [first, second] = ahead === 'tree' ? [tree, plain] : [plain, tree];
  return {ahead, tokens: outAt(first, Infinity) - outAt(second, lasts(first))};
};
