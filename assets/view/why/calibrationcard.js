// Does the head know what it knows? Share of the candidates that were said, by their path probability.

import {together} from './calibration.js';
import {chart, line, linear, path, percent, rect, table, text, through, title} from './draw.js';

export const calibrationCard = why => {
  const {model, say, state, pool} = why,
    bins = state.pooled ? together(pool) : model.bins;
  return [
    [
      'div',
      {class: 'head'},
      ['h2', {}, say('why.knows')],
      ...(pool.length > 1
        ? [['button', {class: 'btn small', 'data-do': 'pool', 'aria-pressed': state.pooled},
            say('why.pool', {n: pool.length})]]
        : []),
    ],
    ['p', {class: 'soft'}, say('why.knowsHint')],
    drawing(why, bins),
    ['p', {}, moral(why, bins)],
    table(
      say('why.table'),
      [
        ...[say('why.pathProb'), say('why.count'), say('why.said')],
        ...[say('why.share'), say('why.interval'), say('why.promised')],
      ],
      bins.map(bin => [
        {},
        `${bin.low.toFixed(1)}–${bin.high.toFixed(1)}`,
        String(bin.count),
        String(bin.said),
        bin.share === null ? '–' : percent(bin.share),
        bin.interval ? bin.interval.map(percent).join(' – ') : '–',
        bin.count ? percent(bin.promised) : '–',
      ]),
    ),
  ];
};

const short = n => (n < 10000 ? String(n) : `${Math.round(n / 1000)}k`);

const drawing = (why, bins) => {
  const {say} = why,
    {w} = why.room('calibration'),
    [h, left, top, bottom] = [230, 42, 10, 48],
    x = linear(0, 1, left, w - 4),
    y = linear(0, 1, h - bottom, top),
    parts = [0, 0.5, 1].flatMap(t => [
      line(left, y(t), w, y(t), 'grid'),
      text(left - 6, y(t) + 4, percent(t), 'soft small', 'end'),
    ]);
  for (const {low, high, count, said, share, interval} of bins) {
    const middle = x((low + high) / 2),
      [from, to] = [x(low) + 2, x(high) - 2];
    parts.push(text(middle, h - bottom + 14, low.toFixed(1).replace('0.', '.'), 'soft small', 'middle'));
    parts.push(text(middle, h - bottom + 28, short(count), 'small', 'middle'));
    if (!count) continue;
    const name = say('why.binTip', {low: low.toFixed(1), high: high.toFixed(1), said, n: count, share: percent(share)});
    parts.push([
      'g',
      {},
      title(name),
      rect(from, y(share) - 1, to - from, h - bottom - y(share) + 1, 'bin', 2),
      line(middle, y(interval[0]), middle, y(interval[1]), 'whisker'),
      ...interval.map(end => line(middle - 4, y(end), middle + 4, y(end), 'whisker')),
    ]);
  }
  const promised = bins.filter(bin => bin.count).map(bin => [x((bin.low + bin.high) / 2), y(bin.promised)]);
  parts.push(path(through(promised), 'curve promise'));
  parts.push(text(left + 8, top + 14, say('why.dashed'), 'small halo'));
  parts.push(text((left + w) / 2, h - 4, say('why.pathAxis'), 'soft small', 'middle'));
  return chart(w, h, say('why.knows'), ...parts);
};

// Unlikely ones against likely ones: what a tree chosen anew each round lives on.
const moral = ({say}, bins) => {
  const share = some => {
    const [count, said] = ['count', 'said'].map(name => some.reduce((all, bin) => all + bin[name], 0));
    return count ? said / count : null;
  };
  const told = x => (x === null ? '–' : percent(x)),
    [low, high] = [share(bins.slice(0, 1)), share(bins.slice(5))];
  return say(high > low + 0.1 ? 'why.moral' : 'why.moralNot', {low: told(low), high: told(high)});
};
