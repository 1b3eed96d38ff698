// What the browser's modules read from recorded runs, as JSON: for `test_why_numbers.py`.
// node why_numbers.mjs SHAPES TRACE.json.gz ...; SHAPES is JSON, [[top_k, depth, total_tokens], ...].

import {readFileSync} from 'node:fs';
import {gunzipSync} from 'node:zlib';
import {calibration} from '../../assets/view/why/calibration.js';
import {balance, clock} from '../../assets/view/why/clock.js';
import {costOfRun} from '../../assets/view/why/cost.js';
import {counts, losses} from '../../assets/view/why/lost.js';
import {fixedShape} from '../../assets/view/why/shapes.js';
import {WhatIf, askable} from '../../assets/view/why/whatif.js';

const [shapes, ...paths] = process.argv.slice(2);
const whatIf = (run, [topK, depth, total]) => {
  const what = new WhatIf(run),
    {low, high, tau} = what.at(topK, depth, total),
    outlooks = what.outlooks(topK, depth);
  return {low, high, tau, kept: outlooks.map(each => each.kept(total)), ghosts: outlooks.map(each => each.ghosts)};
};
const told = paths.map(path => {
  const run = JSON.parse(gunzipSync(readFileSync(path)));
  return {
    losses: losses(run),
    counts: counts(losses(run)),
    calibration: calibration([run]),
    shape: fixedShape(run),
    paid: [clock(run).plain, balance(clock(run))?.costs ?? null],
    rounds: costOfRun(run) && [1, 7, 16, 59].map(total => costOfRun(run).round(4, 3, total)),
    whatIf: askable(run) ? JSON.parse(shapes).map(shape => whatIf(run, shape)) : null,
  };
});
console.log(JSON.stringify(told));
