// Where rounds were lost: a bar for each reason, and every round in a table.

import {chart, linear, percent, rect, table, text, title} from './draw.js';

const STEP = 34;

export const lostCard = why => {
  const {model, say} = why;
  return [
    ['h2', {}, say('why.lost')],
    ['p', {class: 'soft'}, say('why.lostHint')],
    bars(why),
    lostTable(why),
  ];
};

// The rounds of a reason stand in its bar, one square each; where they are too many, one bar.
const bars = why => {
  const {model, say, round} = why,
    {w} = why.room('lost'),
    most = Math.max(...model.counts.map(([, n]) => n)),
    x = linear(0, most, 0, w - 64),
    parts = [];
  model.counts.forEach(([reason, n], i) => {
    const y = i * STEP,
      rounds = model.losses.filter(loss => loss.reason === reason);
    parts.push(text(0, y + 12, say(`whyLost.${reason}`), 'small'));
    for (const [j, loss] of rounds.entries()) {
      const now = loss.round === round,
        name = say('why.lostTip', {round: loss.round + 1, reason: say(`whyLost.${reason}`)});
      const of = {
        'data-round': loss.round,
        role: 'button',
        tabindex: now ? 0 : -1,
        'aria-label': name,
        'aria-pressed': now,
        class: `lead reason ${reason}${now ? ' now' : ''}`,
      };
      const gap = x(1) > 5 ? 1.5 : 0;
      parts.push(['g', of, title(name), rect(x(j), y + 16, x(1) - gap, 13, 'cell', gap ? 2 : 0)]);
    }
    parts.push(text(x(n) + 6, y + 27, `${n} · ${percent(n / model.losses.length)}`, 'bold small'));
  });
  return chart(w, model.counts.length * STEP, say('why.lost'), ...parts);
};

const lostTable = why => {
  const {model, say, token} = why;
  return table(
    say('why.table'),
    [say('round'), say('why.accepted'), say('why.after'), say('why.wanted'), say('why.reason'), say('why.scores'), ''],
    model.losses.map(loss => {
      const r = model.run.rounds[loss.round],
        after = loss.after ? r.candidates.token[loss.after - 1] : r.root;
      const scores =
        loss.rank === null
          ? '–'
          : say('why.rankCut', {
              rank: loss.rank,
              n: r.candidates.token.length,
              score: loss.score.toFixed(2),
              cut: loss.cutoff.toFixed(2),
            });
      return [
        {class: loss.round === why.round ? 'now' : ''},
        why.toRound(loss.round),
        String(r.accept.length),
        token(after),
        token(loss.wanted),
        say(`whyLost.${loss.reason}`),
        scores,
        ['button', {class: 'btn small', 'data-open': loss.round, 'aria-label': say('why.open')}, '→'],
      ];
    }),
    true,
  );
};
