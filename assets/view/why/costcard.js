// What a pass costs by its rows: measured, or the two points that the run's own clock tells.

import {secondsAt} from './cost.js';
import {chart, dot, line, logarithmic, path, rect, seconds, table, tens, text, through} from './draw.js';

const TOP = 14,
  BOTTOM = 34,
  LEFT = 46;

export const costCard = why => {
  const {model, say} = why,
    {cost} = model;
  return [
    ['h2', {}, say('why.cost')],
    ...(cost ? curve(why) : [['p', {class: 'soft'}, say('why.costUnknown')]]),
    ...measuring(why),
    ...(cost ? [costTable(why)] : []),
  ];
};

const rowsOf = ({model, round}) => model.run.rounds[round].tree.candidate.length;

const curve = why => {
  const {model, say} = why,
    {cost} = model,
    rows = rowsOf(why),
    device = why.header.pair.device.startsWith('cuda') ? 'gpu' : 'cpu';
  return [
    ['p', {class: 'soft'}, say(cost.measured ? 'why.costMeasured' : 'why.costTwo', {machine: cost.machine ?? ''})],
    drawing(why),
    ['p', {}, ['b', {}, say('why.worth', {rows, worth: cost.worth(rows).toFixed(1)})], ' ', say(`whyDevice.${device}`)],
  ];
};

const drawing = why => {
  const {model, say} = why,
    {cost} = model,
    rows = rowsOf(why),
    {w} = why.room('cost'),
    h = 210,
    curves = [['verify', cost.verify], ...(cost.measured ? [['head', cost.head]] : [])],
    all = curves.flatMap(([, each]) => each.seconds).filter(s => s > 0),
    most = Math.max(2, rows, ...cost.verify.rows),
    low = Math.min(...all) / 1.6,
    high = Math.max(...all, secondsAt(cost.verify, rows)) * 1.5,
    x = logarithmic(1, most, LEFT, w - 14),
    y = logarithmic(low, high, h - BOTTOM, TOP),
    level = secondsAt(cost.verify, 1);
  const parts = ticks(low, high).flatMap(t => [
    line(LEFT, y(t), w - 4, y(t), 'grid'),
    text(LEFT - 6, y(t) + 4, seconds(t), 'soft small', 'end'),
  ]);
  for (const n of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].filter(n => n <= most && (n < rows / 1.5 || n > rows * 1.5)))
    parts.push(text(x(n), h - BOTTOM + 15, String(n), 'soft small', 'middle'));
  parts.push(text((LEFT + w) / 2, h - 3, say('why.rowsInPass'), 'soft small', 'middle'));
  // flat as far as reading the weights is all that takes time
  parts.unshift(rect(x(1), y(level * 1.25), x(cost.plateau()) - x(1), y(level / 1.25) - y(level * 1.25), 'plateau', 3));
  for (const [name, each] of curves) {
    const points = each.rows.map((n, i) => [x(n), y(Math.max(each.seconds[i], low))]);
    parts.push(path(through(points), `curve ${name}${cost.measured ? '' : ' guess'}`));
    parts.push(...points.map(([a, b]) => dot(a, b, 3, `point ${name}`)));
  }
  const [a, b] = [x(rows), y(secondsAt(cost.verify, rows))],
    end = a > w * 0.6;
  parts.push(line(a, b, a, h - BOTTOM, 'here'), dot(a, b, 5.5, 'here'));
  parts.push(text(a, h - BOTTOM + 15, String(rows), 'bold small', 'middle'));
  const said = say('why.rowsTake', {rows, seconds: seconds(secondsAt(cost.verify, rows))});
  parts.push(text(a + (end ? -9 : 9), b - 8, said, 'bold small halo', end ? 'end' : 'start'));
  return chart(w, h, say('why.cost'), ...parts);
};

// Tens, or where there are too few of them also twos and fives.
const ticks = (low, high) => {
  const found = tens(low, high);
  if (found.length > 1) return found;
  return tens(low / 10, high).flatMap(t => [t, 2 * t, 5 * t]).filter(t => t >= low && t <= high);
};

// The button, and how far it is.
const measuring = ({say, state, canMeasure, model}) => {
  if (!canMeasure) return [];
  const {measuring: share, failed} = state;
  if (share !== null)
    return [
      [
        'p',
        {class: 'measuring', role: 'status'},
        ['progress', {max: 1, value: share}],
        ['button', {class: 'btn small', 'data-do': 'halt'}, say('why.halt')],
      ],
    ];
  const name = say(model.cost?.measured ? 'why.measureAgain' : 'why.measure');
  return [
    ['p', {class: 'measuring'}, ['button', {class: 'btn', 'data-do': 'measure'}, name], ` ${failed ?? ''}`],
  ];
};

const costTable = ({model, say}) => {
  const {cost} = model,
    ms = (each, rows) => (rows <= each.rows.at(-1) ? seconds(secondsAt(each, rows)) : '–');
  return table(
    say('why.table'),
    [say('why.rows'), say('why.targetPass'), say('why.worthHead'), say('why.headPass'), say('whyKind.rest')],
    cost.verify.rows.map(rows => [
      {},
      String(rows),
      seconds(secondsAt(cost.verify, rows)),
      `${cost.worth(rows).toFixed(2)}×`,
      ms(cost.head, rows),
      ms(cost.rest, rows),
    ]),
  );
};
