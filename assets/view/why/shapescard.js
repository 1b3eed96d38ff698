// Static against dynamic: how much of tau came from choosing the tree anew each round.

import {chart, linear, rect, table, text} from './draw.js';

const STEP = 40;

export const shapesCard = why => {
  const {model, say} = why,
    {shape} = model,
    {accepted, blind, dynamic} = shape.tau;
  const values = {
    size: shape.size,
    dynamic: dynamic.toFixed(2),
    blind: blind.toFixed(2),
    share: dynamic > 1 ? Math.round((100 * (dynamic - blind)) / (dynamic - 1)) : 0,
  };
  return [
    ['h2', {}, say('why.static')],
    ['p', {class: 'soft'}, say('why.staticHint', {size: shape.size})],
    bars(why, [
      ['plain', 1],
      ['blind', blind],
      ['hindsight', accepted],
      ['dynamic', dynamic],
    ]),
    ['p', {}, say(dynamic > blind ? 'why.staticMoral' : 'why.staticEven', values)],
    ...(shape.unknown ? [['p', {class: 'soft'}, say('why.staticUnknown', {n: shape.unknown})]] : []),
    table(
      say('why.table'),
      [say('round'), ...['blind', 'hindsight', 'dynamic'].map(name => say(`whyShape.${name}`))],
      model.run.rounds.map((_, i) => [
        {class: i === why.round ? 'now' : ''},
        why.toRound(i),
        ...[shape.blind, shape.accepted, shape.dynamic].map(lengths => String(lengths[i])),
      ]),
    ),
  ];
};

// Tokens per round, one for each way.
const bars = (why, ways) => {
  const {say} = why,
    {w} = why.room('shapes'),
    x = linear(0, Math.max(...ways.map(([, tau]) => tau)), 0, w - 52),
    parts = ways.flatMap(([name, tau], i) => [
      text(0, i * STEP + 13, say(`whyShape.${name}`), 'small'),
      rect(0, i * STEP + 18, x(tau), 14, `way ${name}`, 3),
      text(x(tau) + 6, i * STEP + 30, tau.toFixed(2), 'bold small'),
    ]);
  return chart(w, ways.length * STEP - 4, say('why.static'), ...parts);
};
