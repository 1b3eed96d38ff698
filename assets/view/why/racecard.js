// The race: plain decoding and the tree on one clock, as it was measured, to be played and looked at.

import {chart, leading, linear, rect, round as roundValues, seconds, table, text, times, title, line} from './draw.js';
import {lasts, margin, outAt} from './race.js';

export const PACES = [1, 0.5, 0.25, 0.1];
const LANE = 30,
  GAP = 12,
  TOP = 4;

export const raceCard = why => {
  const {model, say} = why,
    {race, clock} = model;
  return [
    ['div', {class: 'head'}, ['h2', {}, say('why.race')], ...tools(why)],
    ['p', {class: 'soft'}, say(race.plain ? `whyFrom.${clock.from}` : 'why.alone')],
    lanes(why),
    legend(why),
    ['div', {class: 'texts', 'data-hold': 'texts'}, ...texts(why)],
    raceTable(why),
  ];
};

export const lastsRace = ({race: {tree, plain}}) => Math.max(lasts(tree), plain ? lasts(plain) : 0);

const tools = why => {
  const {say, state, model} = why,
    end = lastsRace(model),
    now = state.time ?? end;
  return [
    ['button', {class: 'btn', 'data-do': 'play', 'aria-label': say(state.racing ? 'why.stop' : 'why.start')},
      state.racing ? '❚❚' : '▶'],
    ['button', {class: 'btn small', 'data-do': 'pace', title: say('why.pace'), 'aria-label': say('why.pace')},
      `${state.pace}×`],
    ['input', {type: 'range', min: 0, max: 1000, step: 1, value: 1000, 'data-slide': 'time',
      'aria-label': say('why.time'), 'aria-valuetext': seconds(now)}],
    ['output', {class: 'clock'}, seconds(now)],
  ];
};

const NAMES = {plain: 'why.lanePlain', tree: 'why.laneTree', free: 'why.laneFree'};

const lanes = why => {
  const {model, say, state} = why,
    {race, clock} = model,
    {w} = why.room('race'),
    narrow = w < 560,
    left = narrow ? 0 : 118,
    end = lastsRace(model),
    x = linear(0, end, left, w - 96),
    names = ['plain', 'tree', 'free'].filter(name => race[name]),
    step = LANE + GAP + (narrow ? 16 : 0),
    bottom = TOP + names.length * step,
    parts = roundValues(end).flatMap(t => [
      line(x(t), TOP, x(t), bottom, 'grid'),
      text(x(t), bottom + 13, `${t} s`, 'soft small', 'middle'),
    ]);
  names.forEach((name, i) => {
    const y = TOP + i * step + (narrow ? 16 : 0),
      total = lasts(race[name]);
    parts.push(text(0, narrow ? y - 4 : y + 19, say(NAMES[name]), narrow ? 'small' : ''));
    parts.push(...(name === 'tree' ? treeLane(why, x, y) : plainLane(race[name], x, y, name === 'free')));
    const quotient = clock.quotient && name !== 'plain' ? ` ${times(lasts(race.plain) / total)}` : '';
    const tone = !quotient ? '' : lasts(race.plain) >= total ? 'good' : 'poor';
    parts.push(text(x(total) + 6, y + 19, `${seconds(total)}${quotient}`, `bold ${tone}`));
  });
  if (state.time !== null) {
    const at = x(Math.min(state.time, end));
    parts.push(rect(at, TOP, w - at, bottom - TOP, 'veil'), line(at, TOP - 4, at, bottom + 2, 'head'));
  }
  return chart(w, bottom + 18, say('why.race'), ...parts);
};

// A round's segments as one bar that leads to it.
const treeLane = ({model, say, round}, x, y) => {
  const groups = new Map(),
    parts = [];
  for (const segment of model.race.tree) {
    if (segment.round === null) parts.push(rect(x(0), y, x(segment.to) - x(0), LANE, 'prompt'));
    else groups.set(segment.round, [...(groups.get(segment.round) ?? []), segment]);
  }
  for (const [i, segments] of groups) {
    const {tokens, total} = model.clock.rounds[i],
      name = say('why.roundTip', {round: i + 1, n: tokens, seconds: seconds(total)}),
      [from, to] = [x(segments[0].from), x(segments.at(-1).to)];
    const bars = segments
      .filter(({from: a, to: b}) => x(b) - x(a) > 0.3)
      .map(({kind, from: a, to: b}) => rect(x(a), y, x(b) - x(a) - (kind === 'target' ? 0.6 : 0), LANE, kind));
    const mark = i === round ? [rect(from, y - 3, to - from, LANE + 6, 'mark', 2)] : [];
    parts.push(['g', leading(i, round, name), title(name), ...bars, ...mark]);
  }
  return parts;
};

// Passes one beside the other; where they would be thinner than a line, as one bar.
const plainLane = (segments, x, y, outlined) => {
  const parts = [],
    kind = outlined ? 'free' : 'plain',
    passes = segments.filter(segment => segment.kind !== 'prompt'),
    [prompt] = segments;
  parts.push(rect(x(0), y, x(prompt.to) - x(0), LANE, outlined ? 'prompt free' : 'prompt'));
  const thin = passes.length && (x(lasts(segments)) - x(prompt.to)) / passes.length < 2.5;
  const bars = thin ? [{from: prompt.to, to: lasts(segments), kind: passes[0].kind}] : passes;
  for (const {from, to, kind: of} of bars)
    if (x(to) - x(from) > 0.3) parts.push(rect(x(from) + 0.4, y, x(to) - x(from) - 0.8, LANE, `${kind} ${of}`));
  return parts;
};

const legend = ({model, say}) => {
  const kinds = ['prompt', 'head', 'target', 'rest', ...(model.race.plain ? ['plain'] : [])];
  return [
    'p',
    {class: 'legend'},
    ...kinds.map(kind => ['span', {}, ['i', {class: `swatch ${kind}`}], say(`whyKind.${kind}`)]),
  ];
};

// What both have written at the time that is shown; all of it where none is.
export const texts = why => {
  const {model, say, state, pieces} = why,
    {race, clock} = model,
    end = lastsRace(model),
    now = state.time ?? end;
  const box = (name, segments, speed) => {
    const n = outAt(segments, now + 1e-9),
      rate = speed ? say('why.rate', {speed: speed.toFixed(1)}) : '';
    return [
      'div',
      {class: `written ${name}`},
      ['p', {class: 'soft'}, ['b', {}, say(NAMES[name])], ` · ${say('why.out', {n})}`, ' ', rate],
      ['p', {class: 'said'}, ['bdi', {}, pieces.slice(0, n).join('') || ' ']],
    ];
  };
  return [
    ...(race.plain ? [box('plain', race.plain, clock.speed.plain)] : []),
    box('tree', race.tree, clock.speed.tree),
  ];
};

const raceTable = ({model, say}) => {
  const {race, clock} = model,
    rows = ['plain', 'tree', 'free'].filter(name => race[name]);
  const of = (segments, kind) => segments.reduce((all, s) => all + (s.kind === kind ? s.to - s.from : 0), 0);
  const kinds = ['prompt', 'head', 'target', 'plain', 'rest'];
  const behind = race.plain && margin(race);
  return [
    'div',
    {},
    table(
      say('why.table'),
      ['', ...kinds.map(kind => say(`whyKind.${kind}`)), say('why.total'), say('why.perSecond')],
      rows.map(name => [
        {},
        say(NAMES[name]),
        ...kinds.map(kind => (of(race[name], kind) ? seconds(of(race[name], kind)) : '–')),
        seconds(lasts(race[name])),
        (clock.tokens / lasts(race[name])).toFixed(1),
      ]),
    ),
    ['p', {class: 'soft'}, behind ? say(`whyAhead.${behind.ahead}`, {n: behind.tokens}) : ''],
  ];
};
