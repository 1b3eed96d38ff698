// The first lines: did it pay here, by how much, and what would have to change.

import {percent, rich, times} from './draw.js';

const strong = text => ['b', {}, text];
const speed = x => strong(x.toFixed(1));

export const verdict = why => {
  const {model, say} = why,
    {clock} = model;
  if (!model.run.rounds.length) return [['p', {class: 'first'}, say('why.nothing')]];
  if (!model.drafts) return [['p', {class: 'first'}, say('why.plainRun')]];
  if (clock.quotient === null) return [['p', {class: 'first unknown'}, say('why.unknown')], ['p', {}, ...unknown(why)]];
  const pays = clock.quotient >= 1,
    said = rich(say(pays ? 'why.paid' : 'why.unpaid'), {
      tree: speed(clock.speed.tree),
      plain: speed(clock.speed.plain),
      times: strong(times(clock.quotient)),
    });
  return [
    ['p', {class: `first ${pays ? 'good' : 'poor'}`}, ['b', {class: 'quotient'}, times(clock.quotient)], ...said],
    ['p', {}, ...reasons(why, pays)],
  ];
};

const unknown = ({model, say}) => {
  const {clock, run} = model,
    rounds = run.rounds.length,
    passes = run.rounds.reduce((all, r) => all + r.layers.reduce((n, layer) => n + layer.passes, 0), 0);
  const brings = clock.rounds.reduce((all, r) => all + r.tokens, 0) / rounds;
  const said = say('why.brought', {brings: brings.toFixed(2), passes: Math.round(passes / rounds)});
  return [said, ' ', say('why.findOut')];
};

// What a round costs and brings, and each thing that would turn it.
const reasons = ({model, say}, pays) => {
  const {balance: found, clock, best} = model,
    rows = Math.max(...model.run.rounds.map(r => r.tree.candidate.length)),
    said = [];
  const add = (key, values) => said.push(...rich(say(key), values), ' ');
  add('why.balance', {costs: strong(found.costs.toFixed(1)), brings: strong(found.brings.toFixed(2))});
  if (!pays) add('why.needs', {tau: strong(found.costs.toFixed(1)), share: strong(percent(found.cheaper))});
  if (found.free > clock.quotient * 1.05)
    add('why.free', {rows: String(rows), times: strong(times(found.free))});
  if (best) add(...settings(best, clock, model.cost.plain));
  return said;
};

// Compared by the cost alone, without the prompt, as `best` was looked for.
const settings = (best, clock, plain) => {
  const values = {k: `${best.topK}`, depth: `${best.depth}`, total: `${best.totalTokens}`},
    quotient = best.speed * plain;
  if (quotient < 1) return ['why.bestNone', {...values, times: strong(times(quotient))}];
  if (quotient > 1.02 * Math.max(1, clock.quotient)) return ['why.best', {...values, times: strong(times(quotient))}];
  return ['why.bestThis', {}];
};
