// What the panels show as tables: the rows, the paths, the draws, the cache. Belongs to Panels and is mixed into it.

import {clip, num} from './text.js';

export const tables = {
  // Cells of the monospaced face that are left to each of some columns of text, where all else takes so many pixels
  // in a tight table and in a wide one.
  room(columns, tight, wide) {
    const [cell, taken] = this.table.classList.contains('tight') ? [6.65, tight] : [7.25, wide],
      scrollbar = 12;
    return Math.max(4, Math.floor(((this.width || 366) - scrollbar - taken) / columns / cell));
  },

  grid(className, head, rows) {
    return [
      [
        'table',
        {class: className},
        [
          'thead',
          {},
          ['tr', {}, ...head.map(name => ['th', name === this.view.say('sees') ? {class: 'sr'} : {}, name])],
        ],
        ['tbody', {}, ...rows],
      ],
    ];
  },

  rows(m) {
    const t = m.raw.tree,
      w = key => this.view.say(key),
      cells = this.room(2, 160, 175);
    return this.grid(
      'rows',
      [w('row'), w('token'), w('candidate'), w('parent'), w('position'), w('says'), w('sees')],
      t.candidate.map((id, row) => {
        const says = clip(m.choice(row), Math.min(12, cells - 2)),
          has = t.parent.some((p, i) => p === row && m.tokens[t.candidate[i]] === m.raw.target.argmax[row]);
        return [
          'tr',
          {class: m.onPath.has(id) ? 'accepted' : '', 'data-node': id},
          ...[
            [row, ''],
            [clip(m.label(id), Math.min(14, cells)), 'tok'],
            [id || '–', ''],
            [row ? t.parent[row] : '–', ''],
            [t.position_ids[row], ''],
            [(has ? '✓ ' : '') + says, has ? 'tok yes' : 'tok'],
            [
              t.mask
                .map((_, i) => i)
                .filter(i => m.sees(row, i))
                .join(', '),
              'sr',
            ],
          ].map(([text, kind]) => ['td', {class: kind}, String(text)]),
        ];
      }),
    );
  },

  paths(m) {
    const t = m.raw.tree,
      width = t.retrieve_indices[0].length;
    return this.grid(
      'paths',
      ['', ...Array.from({length: width}, (_, i) => String(i))],
      t.retrieve_indices.map((path, i) => {
        const leaf = t.candidate[path.filter(row => row >= 0).pop()];
        return [
          'tr',
          {class: i === m.raw.accept.row ? 'best' : '', 'data-path': i, 'data-node': leaf},
          ['th', {}, String(i)],
          ...path.map((row, column) => {
            if (row < 0) return ['td', {class: 'pad'}, '−1'];
            const id = t.candidate[row],
              onPath = column < m.raw.accept.path.length && m.raw.accept.path[column] === row;
            return ['td', {class: onPath ? 'yes' : '', title: m.label(id), 'data-node': id}, String(row)];
          }),
        ];
      }),
    );
  },

  draws(m) {
    const w = key => this.view.say(key),
      tree = m.raw.tree;
    const cells = Math.min(14, this.room(1, 221, 236));
    let parent = null,
      left = 1;
    return this.grid(
      'draws',
      ['', w('token'), 'p', 'r', w('left'), ''],
      m.raw.accept.draws.map((test, i) => {
        if (tree.parent[test.node] !== parent) {
          parent = tree.parent[test.node];
          left = 1;
        }
        const id = tree.candidate[test.node],
          line = [
            [i + 1, ''],
            [clip(m.label(id), cells), 'tok'],
            [num(test.p, 3), ''],
            [num(test.r, 3), ''],
            [num(left, 3), ''],
            [test.accepted ? '✓ ' + w('stays') : '✕ ' + w('falls'), 'verdict'],
          ];
        left *= 1 - test.p;
        return [
          'tr',
          {class: test.accepted ? 'accepted' : 'refused', 'data-node': id},
          ...line.map(([text, kind]) => ['td', {class: kind}, String(text)]),
        ];
      }),
    );
  },

  cache(m) {
    const c = m.raw.cache,
      kept = new Set(c.kept),
      w = key => this.view.say(key);
    const prefix = ['div', {class: 'prefix'}, `${w('cacheBefore')} ${c.length_before}`];
    const before = m.raw.tree.candidate.map((id, row) => [
      'div',
      {
        class: `cell ${kept.has(row) ? 'kept' : 'dropped'}`,
        title: `${w('row')} ${row}: ${m.label(id)}`,
        'data-node': id,
      },
      kept.has(row) ? '✓' : '',
    ]);
    const after = c.kept
      .map(row => m.raw.tree.candidate[row])
      .map(id => ['div', {class: 'cell kept wide', 'data-node': id}, m.label(id)]);
    return [
      [
        'div',
        {class: 'tv-cache'},
        ['div', {class: 'strip'}, prefix, ...before],
        ['div', {class: 'arrow'}, '↓'],
        ['div', {class: 'strip after'}, prefix, ...after],
      ],
    ];
  },
};
