// What if another tree had been drafted? Sliders below what was recorded, the round's tree anew, tau and tokens/s.

import {speedOf, totals} from './best.js';
import {chart, dot, line, linear, logarithmic, path, rect, stairs, table, text, times, title} from './draw.js';
import {cellsOf, clip} from '../text.js';
import {tauOf} from './run.js';
import {placed} from './smalltree.js';
import {candidateCount} from './whatif.js';

const LONGEST = 11; // cells of a token in a chart

export const whatCard = why => {
  const {model, say} = why;
  const head = ['div', {class: 'head'}, ['h2', {}, say('why.what')]];
  if (!model.what) return [head, ['p', {class: 'soft'}, say('why.whatNot')]];
  head.push(
    ['button', {class: 'btn small', 'data-do': 'recorded'}, say('why.asRecorded')],
    ...(model.best ? [['button', {class: 'btn small', 'data-do': 'best'}, say('why.takeBest')]] : []),
  );
  const found = outcome(why);
  return [
    head,
    ['p', {class: 'soft'}, say('why.whatHint')],
    [
      'div',
      {class: 'two'},
      ['div', {}, ...sliders(why), ladder(why, found)],
      ['div', {}, tiles(why, found), tree(why, found), ['p', {class: 'soft note'}, note(why, found)]],
    ],
    whatTable(why),
  ];
};

// What the sliders may say: total_tokens goes by the numbers that are worth asking.
export const ranges = ({what}, {topK, depth}) => ({
  topK: {least: 1, most: what.topK},
  depth: {least: 0, most: what.depth},
  totals: totals(candidateCount(topK, depth)),
});

const outcome = ({model, state, round}) => {
  const {topK, depth, totalTokens} = state.setting,
    {what, cost} = model,
    outlook = what.outlooks(topK, depth)[round];
  return {
    outlook,
    run: what.at(topK, depth, totalTokens),
    here: outlook.accepted(totalTokens),
    speed: cost && speedOf(what, cost, state.setting),
  };
};

const sliders = ({model, say, state}) => {
  const {topK, depth, totalTokens} = state.setting,
    all = ranges(model, state.setting);
  const slider = (name, value, shown, low, high) => [
    'label',
    {class: 'slider'},
    ['span', {}, name],
    ['input', {type: 'range', min: low, max: high, step: 1, 'data-slide': name, 'aria-valuetext': shown}],
    ['output', {}, shown],
  ];
  return [
    slider('total_tokens', null, say('why.keptOf', {n: totalTokens, all: all.totals.at(-1)}), 0, all.totals.length - 1),
    slider('depth', depth, String(depth), all.depth.least, all.depth.most),
    slider('top_k', topK, String(topK), all.topK.least, all.topK.most),
  ];
};

// Accepted by the number of nodes kept: of this round, and on the mean of the run.
const ladder = (why, {outlook}) => {
  const {model, say, state, round, label} = why,
    {topK, depth, totalTokens} = state.setting,
    {w} = why.room('what'),
    width = w > 640 ? Math.floor(w / 2) - 12 : w,
    [h, left, top, bottom] = [214, 24, 18, 32],
    most = candidateCount(topK, depth),
    all = totals(most).map(total => [total, tauOf(model.what.at(topK, depth, total).low) - 1]),
    high = Math.max(2, outlook.path.length, Math.ceil(all.at(-1)[1])),
    x = logarithmic(1, Math.max(2, most), left, width - 12),
    y = linear(0, high, h - bottom, top),
    parts = [];
  for (let n = 0; n <= high; n++)
    parts.push(line(left, y(n), width, y(n), 'grid'), text(left - 6, y(n) + 4, String(n), 'soft small', 'end'));
  const means = all.map(([total, accepted]) => [x(total), y(accepted)]);
  parts.push(path(stairs(means, x(most)), 'curve mean'));
  const [lastX, lastY] = means.at(-1);
  parts.push(text(lastX - 2, lastY - 6, say('why.meanOfRun'), 'soft small halo', 'end'));
  const rise = needs => [[x(1), y(0)], ...needs.map((need, i) => [x(need), y(i + 1)]).filter(([at]) => at <= x(most))];
  if (outlook.maybe.some((need, i) => need !== outlook.surely[i]))
    parts.push(path(stairs(rise(outlook.maybe), x(most)), 'curve round maybe'));
  parts.push(path(stairs(rise(outlook.surely), x(most)), 'curve round'));
  const {token} = model.run.rounds[round].candidates;
  outlook.surely.forEach((need, i) => {
    if (need > most) return;
    const said = clip(label(token[outlook.path[i] - 1]), LONGEST),
      room = x(need) > 8 * cellsOf(said) + 6; // to the left of it
    parts.push(dot(x(need), y(i + 1), 4, need <= totalTokens ? 'point in' : 'point out'));
    parts.push(text(x(need) + (room ? -6 : 7), y(i + 1) - 6, said, 'small tok halo', room ? 'end' : 'start'));
  });
  parts.push(line(x(totalTokens), top - 8, x(totalTokens), h - bottom, 'here'));
  for (const n of [1, 4, 16, 64, 256].filter(n => n <= most && (n < totalTokens / 1.5 || n > totalTokens * 1.5)))
    parts.push(text(x(n), h - bottom + 14, String(n), 'soft small', 'middle'));
  parts.push(text(x(totalTokens), h - bottom + 14, String(totalTokens), 'bold small', 'middle'));
  parts.push(text((left + width) / 2, h - 3, say('why.nodesKept'), 'soft small', 'middle'));
  return chart(width, h, say('why.acceptedBy'), ...parts);
};

const range = (ends, digits) => [...new Set(ends.map(end => end.toFixed(digits)))].join('–');

const tiles = ({model, say, state}, {here, run, speed}) => {
  const tile = (value, name, kind = '') => ['div', {class: kind}, ['b', {}, value], ['span', {}, name]];
  const fast = speed && model.cost.plain * speed[0];
  return [
    'div',
    {class: 'tiles', role: 'status'},
    tile(range(here, 0), say('why.acceptedHere')),
    tile(String(state.setting.totalTokens + 1), say('why.rowsToRead')),
    tile(range(run.tau, 2), say('why.tauRun')),
    ...(speed
      ? [
          tile(`≈ ${range(speed, 1)}`, say('why.perSecond')),
          tile(times(fast), say('why.plainSpeed'), fast < 1 ? 'poor' : 'good'),
        ]
      : []),
  ];
};

// The round's tree as it would be, over what was kept.
const tree = (why, {outlook, here}) => {
  const {model, say, state, round, label} = why,
    {w} = why.room('what'),
    width = w > 640 ? Math.floor(w / 2) - 12 : w,
    [h, top] = [194, 26],
    {candidates, tree: recorded, accept} = model.run.rounds[round],
    [kept, ghosts] = outlook.kept(state.setting.totalTokens),
    before = new Set(recorded.candidate),
    now = new Set(kept),
    {path: wanted} = outlook,
    ids = [...new Set([...kept, ...ghosts, ...recorded.candidate.slice(1)])].sort((a, b) => a - b),
    {place, lines, depth} = placed(candidates.parent, ids, wanted),
    x = linear(0, Math.max(1, depth), 12, width - 60),
    y = linear(0, Math.max(1, lines - 1), top, Math.min(h - 8, top + 9 * lines)),
    r = Math.max(1.4, Math.min(4, 1.3 * (y(1) - y(0)) / 2 + 0.6)),
    lit = new Set(wanted.slice(0, here[0])),
    edges = [],
    nodes = [];
  const kindOf = id => {
    if (lit.has(id)) return 'accepted';
    if (now.has(id)) return before.has(id) ? 'kept' : 'fresh';
    return ghosts.includes(id) ? 'ghost' : 'gone';
  };
  for (const id of ids) {
    const [[d, l], [from, above]] = [place.get(id), place.get(candidates.parent[id - 1])],
      kind = kindOf(id),
      [a, b] = [x(from), y(above)];
    edges.push(path(l === above ? `M${a} ${b}H${x(d)}` : `M${a} ${b}C${a + 8} ${y(l)} ${a + 8} ${y(l)} ${x(d)} ${y(l)}`,
      `edge ${kind}`));
    const mark = dot(x(d), y(l), kind === 'accepted' ? 5 : r, `node ${kind}`);
    nodes.push(['g', {}, title(label(candidates.token[id - 1])), mark]);
  }
  const said = wanted
    .slice(0, here[0] + 1)
    .filter(id => place.has(id))
    .map(id => {
      const said = clip(label(candidates.token[id - 1]), depth > 4 && width < 420 ? 7 : LONGEST);
      return text(x(place.get(id)[0]), top - 11, said, 'small tok', 'middle');
    });
  const root = rect(x(0) - 5, y(0) - 5, 10, 10, 'node root', 2);
  const name = say('why.treeAs', {n: kept.length, accepted: here[0], before: accept.length});
  return chart(width, h, name, ...edges, ...nodes, root, ...said);
};

const note = ({model, say, state}, {run, outlook}) => {
  const said = [say('why.estimate')];
  if (state.setting.topK < model.what.topK) said.push(say(run.exact ? 'why.exactAll' : 'why.bound'));
  if (outlook.ghosts.length && state.setting.topK < model.what.topK) said.push(say('why.ghosts'));
  if (model.cost && !model.cost.measured) said.push(say('why.guessed'));
  return said.join(' ');
};

// Every round at the setting, beside what was recorded.
const whatTable = why => {
  const {model, say, state} = why,
    {topK, depth, totalTokens} = state.setting,
    outlooks = model.what.outlooks(topK, depth);
  return table(
    say('why.table'),
    [say('round'), say('why.recorded'), say('why.here'), say('why.wouldNeed')],
    outlooks.map((outlook, i) => [
      {class: i === why.round ? 'now' : ''},
      why.toRound(i),
      String(model.run.rounds[i].accept.length),
      range(outlook.accepted(totalTokens), 0),
      outlook.surely.filter(Number.isFinite).join(', ') || '–',
    ]),
  );
};
