// All that the cards show of a run, each reckoned when it is first looked at.

import {calibration} from './calibration.js';
import {balance, clock} from './clock.js';
import {costOfRun} from './cost.js';
import {counts, losses} from './lost.js';
import {race} from './race.js';
import {fixedShape} from './shapes.js';
import {WhatIf, askable} from './whatif.js';

const PARTS = {
  clock: m => clock(m.run, m.measured),
  balance: m => balance(m.clock),
  race: m => race(m.clock),
  losses: m => losses(m.run),
  counts: m => counts(m.losses),
  bins: m => calibration([m.run]),
  shape: m => fixedShape(m.run),
  what: m => (askable(m.run) ? new WhatIf(m.run) : null),
  cost: m => m.measured ?? costOfRun(m.run),
};
const BY_COST = ['clock', 'balance', 'race', 'cost'];

export class Model {
  // measured: a `Cost` by `core cost`, or null.
  constructor(run, measured = null) {
    this.run = run;
    this.measured = measured;
    this.best = null; // the fastest setting, when it has been looked for
    this.found = {};
  }

  price(measured) {
    this.measured = measured;
    this.best = null;
    for (const name of BY_COST) delete this.found[name];
  }

  get drafts() {
    return this.run.rounds.some(r => r.candidates.token.length > 0);
  }
}

for (const [name, reckon] of Object.entries(PARTS))
  Object.defineProperty(Model.prototype, name, {
    get() {
      if (!(name in this.found)) this.found[name] = reckon(this);
      return this.found[name];
    },
  });
