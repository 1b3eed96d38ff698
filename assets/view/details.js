// What is known of one node.

import {KEEP, fill} from './dom.js';
import {ABSENT, DECIDED, FRAMES, RANKED, VERIFIED} from './frames.js';
import {clip, num, quote} from './text.js';

export class Details {
  constructor(view) {
    this.view = view;
    this.box = view.ref.details;
    this.view.on(this.box, 'click', event => {
      // no hover here: it would change what is under the pointer
      const link = event.target.closest('[data-node]');
      if (link) view.pin(Number(link.dataset.node));
    });
  }

  // Waits for the frame that is painted next, so that a pointer passing over many tokens costs one.
  focus(m, focus, pin) {
    this.view.after('details', () => this.show(m, focus, pin));
  }

  show(m, focus, pin) {
    const shown = focus ?? m.page.frames[this.view.state.frame].focus[0] ?? 0;
    const {frame, lang} = this.view.state;
    const key = `${m.data.text.length} ${m.index} ${frame} ${shown} ${pin} ${focus === null} ${lang}`;
    if (key === this.key) return;
    this.key = key;
    fill(this.box, this.rows(m, shown));
  }

  rows(m, id) {
    const d = (key, values) => this.view.say(`d.${key}`, values),
      now = this.view.state.frame,
      row = m.rowOf.get(id),
      state = m.state(now, id);
    const {stage} = FRAMES[this.view.frame.kind],
      verified = stage >= VERIFIED;
    const ranked = stage >= RANKED,
      decided = stage === DECIDED;
    const strong = text => ['b', {}, text],
      soft = text => ['span', {class: 'soft'}, text];
    const lines = [],
      line = (...parts) => lines.push(['p', {}, ...parts]);
    let bars = ['div', {class: 'tv-probs none', 'aria-hidden': true}, KEEP]; // out of sight, for the next frame
    if (id === 0) line(strong(d('root')));
    if (id === m.bonus) line(strong(d('bonus')));
    if (m.candidate(id)) {
      const rank = m.rank.get(id),
        kept = row !== undefined;
      const place = {rank, n: m.count, cut: num(m.raw.tree.cutoff)};
      if (ranked) {
        line(
          strong(kept ? d('keptWord') : d('prunedWord')),
          ', ',
          d(this.standing(m, id, kept), place),
        );
      } else {
        const there = m.there(now);
        line(
          strong(state === 'e' ? d('expandedWord') : d('scoredWord')),
          ', ',
          d('soFar', {rank: there.indexOf(id) + 1, n: there.length}),
        );
      }
      const path = m.path(id).slice(1),
        sum = path.map((node, i) => (i ? '\u2212 ' : '\u2212') + num(-m.logProb(node))).join(' ');
      const exact =
        path.reduce((n, node) => n + Math.round(m.logProb(node) * 100), 0) === Math.round(m.score(id) * 100);
      line(
        soft(path.length > 1 ? `${d('sum')} ${sum} ${exact ? '=' : '≈'} ` : `${d('sum')} `),
        strong(num(m.score(id))),
      );
      const target = verified && row !== undefined ? m.raw.target.token_prob[row] : null;
      line(
        soft(`${d('head')} `),
        strong(Math.exp(m.logProb(id)).toFixed(2)),
        ...(target === null ? [] : [soft(`, ${d('target')} `), strong(target.toFixed(2))]),
      );
      if (ranked && row !== undefined)
        line(
          soft(d('row', {candidate: id, row})),
          soft(`, ${d('position')} ${m.raw.prefix_length} + ${m.depth(id)} = `),
          strong(String(m.raw.tree.position_ids[row])),
        );
      else
        line(soft(`${d('onlyCandidate', {candidate: id})}, ${d('layer', {layer: m.raw.candidates.layer[id - 1]})}`));
      if (ranked && row !== undefined)
        line(soft(`${d('looks')} `), this.chain(m, m.path(id)), soft(` ${d('plusPrefix')}`));
      if (decided && row !== undefined) line(this.verdict(m, id, row));
    } else if (id === 0 && ranked) {
      line(soft(`${this.view.say('row')} 0, ${d('position')} `), strong(String(m.raw.tree.position_ids[0])));
    }
    if (verified && row !== undefined)
      bars = this.bars(
        d('top'),
        m.raw.target.top[row].map(([token, p]) => ({
          label: this.view.data.label(token),
          p,
          id: m.raw.tree.candidate.find((c, i) => m.raw.tree.parent[i] === row && m.tokens[c] === token),
        })),
      );
    const children = (m.children.get(id) || []).filter(child => m.state(now, child) !== ABSENT);
    if (!verified && children.length)
      bars = this.bars(
        d('children', {n: children.length}),
        children.map(child => ({
          label: m.label(child),
          p: Math.exp(m.logProb(child)),
          id: child,
          state: m.state(now, child),
        })),
      );
    const idle = this.view.state.pin === null && this.view.state.hover === null;
    return [
      [
        'div',
        {class: 'tv-cardhead'},
        ['h2', {class: 'node'}, ['i', {class: `swatch s-${state}`}], ['bdi', {class: 'tok'}, quote(m.label(id))]],
        ['span', {class: 'tv-unit'}, `${d('id')} ${m.tokens[id]}`],
      ],
      ['div', {}, ...lines],
      bars,
      ['p', {class: idle ? 'hint' : 'hint none', 'aria-hidden': !idle}, this.view.say('hoverNode')],
    ];
  }

  // How a ranked candidate stands to the cut.
  standing(m, id, kept) {
    if (kept) return m.cutting ? 'kept' : 'keptAll';
    return m.score(id) >= m.raw.tree.cutoff ? 'cutTie' : 'cut';
  }

  verdict(m, id, row) {
    const d = (key, values) => this.view.say(`d.${key}`, values),
      test = m.tests.get(id),
      parent = m.raw.tree.parent[row];
    const say = (kind, text) => ['b', {class: kind}, text],
      drawn = test && {r: num(test.r), p: num(test.p)};
    if (test) return test.accepted ? say('yes', '✓ ' + d('drawIn', drawn)) : say('no', '✕ ' + d('drawOut', drawn));
    if (m.onPath.has(id)) return say('yes', '✓ ' + d('accepted'));
    const choice = quote(m.choice(parent));
    if (m.raw.accept.draws.length) return say('', d('sampledOff'));
    if (parent === m.raw.accept.bonus_from) return say('no', '✕ ' + d('mismatch', {token: choice}));
    return say('', m.tokens[id] === m.raw.target.argmax[parent] ? d('offPathMatch') : d('offPath', {token: choice}));
  }

  chain(m, ids) {
    return [
      'span',
      {class: 'chain'},
      ...ids.flatMap(id => [['bdi', {class: 'tok link', 'data-node': id}, m.label(id)], ' ']),
    ];
  }

  bars(title, items) {
    return [
      'div',
      {class: 'tv-probs'},
      ['p', {class: 'soft'}, title],
      ...items.map(({label, p, id, state}) => {
        const there = id !== undefined,
          width = `width: ${Math.max(0.5, p * 100).toFixed(2)}%`;
        return [
          'div',
          {
            class: `prob${there ? ' link' : ''} s-${state || (there ? 'k' : '')}`,
            ...(there ? {'data-node': id} : {}),
          },
          ['bdi', {class: 'tok'}, clip(label, 13)],
          ['span', {class: 'track'}, ['i', {style: width}]],
          ['span', {class: 'value'}, p.toFixed(2)],
        ];
      }),
    ];
  }
}
