// Static against dynamic: what one fixed shape of the same size would have accepted of a run, chosen in hindsight.
//
// A shape is a set of rank paths, closed upwards: "1" is the likeliest child of the root, "1,3" the third likeliest
// after it, as the head ranks them. A round's text has a rank path too, and a shape accepts what of it lies inside.

import {pathOf, tauOf, wanted} from './run.js';

// The best fixed shape of a run, and what it would have been worth.
//   size      nodes that a round may keep, as many as the run's own trees have at most
//   shape     the rank paths that served any round, best first: `size` at most; more would have changed nothing
//   accepted  what the shape accepts of every round
//   blind     the same where each round's shape is chosen from the other rounds only: as one chosen beforehand
//   dynamic   what the run accepted
//   unknown   rounds whose text leaves the candidates at one that was not fed: a shape may have gone further there
//   tau       {accepted, blind, dynamic}
export const fixedShape = ({rounds}, size = null) => {
  size ??= Math.max(0, ...rounds.map(r => r.tree.candidate.length - 1));
  const tokens = wanted(rounds),
    nodes = rounds.map((r, i) => pathOf(r, tokens[i])),
    paths = rounds.map((r, i) => ranksOf(r, nodes[i])),
    travelled = new Map();
  for (const path of paths) travel(travelled, path, 1);
  const shape = best(travelled, size),
    accepted = paths.map(path => inside(path, shape)),
    blind = paths.map(path => {
      travel(travelled, path, -1);
      const without = best(travelled, size);
      travel(travelled, path, 1);
      return inside(path, without);
    }),
    dynamic = rounds.map(r => r.accept.length),
    unknown = rounds.filter((r, i) => leaves(r, nodes[i], tokens[i])).length;
  return {
    ...{size, shape, accepted, blind, dynamic, unknown},
    tau: {accepted: tauOf(accepted), blind: tauOf(blind), dynamic: tauOf(dynamic)},
  };
};

// Does the text leave the candidates at one that was not fed to the head?
const leaves = (r, nodes, tokens) =>
  nodes.length !== tokens.length &&
  nodes.length !== r.layers.length &&
  !r.layers.some(({expanded}) => expanded.includes(nodes.at(-1) ?? 0));

// The place of each node among its siblings, from 1. They are created likeliest first.
const ranksOf = ({candidates: {parent}}, nodes) =>
  nodes.map(id => parent.slice(0, id).filter(of => of === parent[id - 1]).length);

const travel = (travelled, path, by) => {
  for (let n = 1; n <= path.length; n++) {
    const key = path.slice(0, n).join();
    travelled.set(key, (travelled.get(key) ?? 0) + by);
  }
};

// The most travelled; of equals the nearest to the root, then the likeliest. A child is never above its parent.
const best = (travelled, size) => {
  const keys = [...travelled].filter(([, n]) => n).map(([key, n]) => ({key, n, path: key.split(',').map(Number)}));
  keys.sort((a, b) => b.n - a.n || a.path.length - b.path.length || first(a.path, b.path));
  return keys.slice(0, size).map(({key}) => key);
};

const first = (a, b) => {
  const at = a.findIndex((rank, i) => rank !== b[i]);
  return at < 0 ? 0 : a[at] - b[at];
};

// How far a text goes within a shape.
const inside = (path, shape) => {
  const there = new Set(shape);
  let n = 0;
  while (n < path.length && there.has(path.slice(0, n + 1).join())) n++;
  return n;
};
