// Seconds of a run and of its rounds, by stage, beside the plain passes that they replace; and whether it paid.

import {decided, mean, sum} from './run.js';

export const STAGES = ['draft', 'tree', 'verify', 'accept', 'commit'];

// Seconds of a token of plain decoding by the check of a run, its prompt left out; null without a check.
export const plainPass = ({check}) => {
  const moments = check?.clock ?? [];
  return moments.length > 1 ? (moments.at(-1) - moments[0]) / (moments.length - 1) || null : null;
};

// What a run took. `plain` is a pass of plain decoding, by the run's own check, else by a cost curve (`cost.js`), else
// null; with it come `speed` {tree, plain} in tokens/s and `quotient`, the one by the other. A round has `seconds` by
// stage, their `total`, the `tokens` that it brought and the plain passes that it `costs`.
// `moments`: when plain decoding had each of its tokens, by the check.
export const clock = (run, cost = null) => {
  const own = plainPass(run),
    plain = own ?? cost?.plain ?? null,
    prompt = run.summary?.seconds.prefill ?? 0,
    rounds = roundsOf(run, plain),
    tokens = run.output?.token_ids.length ?? 1 + sum(rounds.map(r => r.tokens)),
    total = prompt + sum(rounds.map(r => r.total)),
    moments = own ? run.check.clock : null,
    alone = plain && (moments?.at(-1) ?? prompt + plain * (tokens - 1)),
    speed = {tree: tokens / total, plain: plain && (moments?.length ?? tokens) / alone},
    measured = total > 0 && rounds.length > 0;
  return {
    ...{plain, prompt, rounds, tokens, total, speed, moments},
    seconds: Object.fromEntries(STAGES.map(stage => [stage, sum(rounds.map(r => r.seconds[stage]))])),
    from: own ? 'check' : plain ? 'cost' : null,
    alone: alone ?? null,
    quotient: plain && measured ? speed.tree / speed.plain : null,
  };
};

// What a round brings to the text: of the last one no more than the run wrote.
const roundsOf = ({rounds, output}, plain) => {
  let left = output ? output.token_ids.length - 1 : Infinity; // the first root is out before any round
  return rounds.map(({seconds}, i) => {
    const total = sum(STAGES.map(stage => seconds[stage])),
      tokens = Math.min(decided(rounds[i]).length, Math.max(left, 0));
    left -= tokens;
    return {seconds, total, tokens, costs: plain && total / plain};
  });
};

// What decides it, in plain passes: a round `costs` so many and `brings` so many tokens (tau, without what lies behind
// the end). `cheaper` is the share by which rounds would have to cost less, negative where they may cost more. `free`
// is the quotient if a tree's rows cost no more than one, `guessed` if all the head drafts were free. null without
// plain passes.
export const balance = ({plain, prompt, rounds, tokens, speed}) => {
  if (!plain || !rounds.length) return null;
  const costs = mean(rounds.map(r => r.costs)),
    brings = mean(rounds.map(r => r.tokens)),
    against = saved => tokens / (prompt + sum(rounds.map(r => r.total - saved(r.seconds)))) / speed.plain;
  return {
    ...{costs, brings},
    cheaper: 1 - brings / costs,
    free: against(({verify}) => Math.max(0, verify - plain)),
    guessed: against(({draft}) => draft),
  };
};
