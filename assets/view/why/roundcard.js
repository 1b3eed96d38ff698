// The chosen round: where it was lost, its seconds by stage beside the plain passes that it replaces, spent and won.

import {STAGES} from './clock.js';
import {chart, linear, rect, rich, seconds, table, text, title} from './draw.js';

const RATIO = {plus: '+', minus: '\u2212'};

export const roundCard = why => {
  const {model, say, round} = why,
    loss = model.losses[round],
    r = model.run.rounds[round],
    {tokens, costs} = model.clock.rounds[round];
  return [
    [
      'div',
      {class: 'head'},
      ['h2', {}, say('why.round', {round: round + 1, n: model.run.rounds.length})],
      ['button', {class: 'btn small', 'data-open': round}, say('why.open')],
    ],
    ['p', {class: 'tale'}, ...tale(why, loss, r)],
    lanes(why),
    ['div', {class: 'balance'}, spent(why, r, costs), won(why, r, tokens, costs)],
    stageTable(why),
  ];
};

export const tale = ({model, say, token}, loss, r) => {
  const c = r.candidates,
    values = {
      wanted: token(loss.wanted, 'b'),
      after: token(loss.after ? c.token[loss.after - 1] : r.root, 'a'),
      rank: ['b', {}, String(loss.rank)],
      all: String(c.token.length),
      kept: ['b', {}, String(r.tree.candidate.length - 1)],
      k: String(c.parent.filter(of => of === loss.after).length),
      layers: String(r.layers.length),
    };
  const {reason} = loss;
  const said = rich(say(`whyTale.${reason}`, {n: Number(values.k)}), values);
  if (reason !== 'cut' || !model.what) return said;
  return [...said, ' ', ...rich(say('why.keeping'), values)];
};

// Both on one scale: the round's stages, and as many plain passes as tokens came.
const lanes = why => {
  const {model, say, round} = why,
    {seconds: spent, total, tokens} = model.clock.rounds[round],
    {plain} = model.clock,
    {w} = why.room('round'),
    instead = plain ? plain * tokens : 0,
    x = linear(0, Math.max(total, instead), 0, w - 2),
    parts = [];
  let at = 0;
  for (const stage of STAGES) {
    const name = `${say(`whyStage.${stage}`)}: ${seconds(spent[stage])}`,
      width = x(spent[stage]);
    parts.push(['g', {}, title(name), rect(x(at), 18, width, 24, `stage ${stage}`, 2)]);
    if (width > 8 * name.length) parts.push(text(x(at) + 7, 34, name, 'on small'));
    at += spent[stage];
  }
  parts.unshift(text(0, 12, say('why.thisRound', {seconds: seconds(total)}), 'soft small'));
  if (plain) {
    for (let i = 0; i < tokens; i++) parts.push(rect(x(i * plain) + 0.5, 64, x(plain) - 1.5, 24, 'plain', 2));
    parts.push(text(0, 58, say('why.replaces', {n: tokens, seconds: seconds(instead)}), 'soft small'));
  }
  return chart(w, plain ? 92 : 46, say('why.roundClock'), ...parts);
};

const entries = (kind, name, lines) => [
  'dl',
  {class: kind},
  ['dt', {class: 'cap'}, name],
  ...lines.map(([value, unit]) => ['dd', {}, ['b', {}, value], ` ${unit}`]),
];

const spent = ({model, say, round}, r, costs) => {
  const passes = r.layers.reduce((all, layer) => all + layer.passes, 0),
    rows = r.tree.candidate.length,
    dropped = rows - r.accept.path.length;
  return entries('spent', say('why.spent'), [
    ['1', say('why.targetPass')],
    [String(passes), say('why.headPasses', {n: passes})],
    [String(rows), say('why.rowsRead', {dropped})],
    costs === null
      ? [seconds(model.clock.rounds[round].total), '']
      : [costs.toFixed(1), say('why.plainPasses', {n: costs})],
  ]);
};

const won = ({say}, r, tokens, costs) => {
  const gain = costs === null ? null : tokens - costs,
    sign = gain < 0 ? RATIO.minus : RATIO.plus;
  return entries(gain === null ? 'won' : gain < 0 ? 'won poor' : 'won good', say('why.won'), [
    [String(r.accept.length), say('why.drafted', {n: r.accept.length})],
    ['1', say('why.own')],
    [String(tokens), say('why.tokens', {n: tokens})],
    ...(gain === null ? [] : [[`${sign}${Math.abs(gain).toFixed(1)}`, say('why.passesWon')]]),
  ]);
};

const stageTable = why => {
  const {model, say} = why;
  return table(
    say('why.table'),
    [say('round'), ...STAGES.map(stage => say(`whyStage.${stage}`)), say('why.inPasses'), say('why.cameOut')],
    model.clock.rounds.map((r, i) => [
      {class: i === why.round ? 'now' : ''},
      why.toRound(i),
      ...STAGES.map(stage => seconds(r.seconds[stage])),
      r.costs === null ? '–' : r.costs.toFixed(1),
      String(r.tokens),
    ]),
  );
};
