// What a view consists of, as parts for `fill` (`dom.js`). Elements are found by their `data-ref`.

export const MARKUP = [
  [
    'div',
    {class: 'tv', 'data-ref': 'root'},
    [
      'header',
      {class: 'tv-head'},
      ['h1', {}, 'TreeViz'],
      ['p', {class: 'tv-run', 'data-ref': 'run'}],
      ['div', {class: 'tv-pills', 'data-ref': 'pills'}],
      ['div', {class: 'tv-tools', 'data-ref': 'tools'}],
    ],
    [
      'section',
      {class: 'tv-card tv-text', 'data-ref': 'textcard'},
      ['div', {class: 'tv-stream', 'data-ref': 'stream', role: 'group'}],
      ['p', {class: 'tv-gain', 'data-ref': 'gain'}],
      ['div', {'data-ref': 'texttools'}],
    ],
    [
      'section',
      {class: 'tv-card tv-time'},
      ['div', {class: 'tv-bars', 'data-ref': 'bars', role: 'group'}],
      ['div', {class: 'tv-control', 'data-ref': 'control'}],
      ['nav', {class: 'tv-strip', 'data-ref': 'strip'}],
    ],
    [
      'div',
      {class: 'tv-grid'},
      [
        'section',
        {class: 'tv-card tv-treecard'},
        [
          'div',
          {class: 'tv-cardhead'},
          ['h2', {'data-ref': 'treetitle'}],
          ['span', {class: 'tv-unit', 'data-ref': 'unit'}],
          ['div', {class: 'tv-tools', 'data-ref': 'treetools'}],
        ],
        ['div', {class: 'tv-treebox', 'data-ref': 'treebox'}, ['svg', {class: 'tv-tree', 'data-ref': 'tree'}]],
        ['div', {class: 'tv-legend', 'data-ref': 'legend'}],
      ],
      [
        'div',
        {class: 'tv-side'},
        [
          'section',
          {class: 'tv-card tv-panel'},
          [
            'div',
            {class: 'tv-cardhead'},
            ['h2', {'data-ref': 'paneltitle'}],
            ['div', {class: 'tv-tools', 'data-ref': 'paneltools'}],
          ],
          ['div', {class: 'tv-tabs', 'data-ref': 'tabs', role: 'tablist'}],
          ['div', {class: 'tv-panelbody', 'data-ref': 'panel'}],
          ['p', {class: 'tv-caption', 'data-ref': 'caption'}],
        ],
        ['div', {class: 'tv-cards', 'data-ref': 'cards', role: 'group'}],
        [
          'section',
          {class: 'tv-card tv-details'},
          ['div', {class: 'inner', 'data-ref': 'details', tabindex: '0', role: 'region'}],
        ],
        [
          'section',
          {class: 'tv-card tv-source'},
          ['div', {class: 'tv-cardhead'}, ['h2', {class: 'tv-file', 'data-ref': 'file'}]],
          ['div', {class: 'tv-code', 'data-ref': 'code'}],
        ],
      ],
      [
        'section',
        {class: 'tv-card tv-say', 'data-ref': 'saycard'},
        [
          'div',
          {class: 'inner'},
          ['p', {class: 'tv-intro', 'data-ref': 'intro', hidden: true}],
          ['p', {'data-ref': 'say', 'aria-live': 'polite'}],
        ],
      ],
    ],
    ['div', {class: 'tv-empty', 'data-ref': 'empty', hidden: true}],
    ['div', {class: 'tv-beside', 'data-ref': 'beside', hidden: true}],
  ],
];
