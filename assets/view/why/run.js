// A run as the numbers behind it are read from: the trace's own parts, and what the target wanted of each round.

// {config, rounds, output, summary, check} of what the page holds; what comes with the end is null before it. Of plain
// decoding that still runs the check has the moments so far.
export const runOf = ({header, lines, footer, plainly = []}) => ({
  config: header?.config ?? {},
  rounds: lines.map(line => line.round),
  output: footer?.output ?? null,
  summary: footer?.summary ?? null,
  check: footer && plainly.length > 1 ? {...footer.check, clock: plainly} : (footer?.check ?? null),
});

// Ids of tokens that a round adds to the text, unless the run ends among them: the accepted, and the bonus.
export const decided = r => [
  ...r.accept.path.slice(1).map(row => r.candidates.token[r.tree.candidate[row] - 1]),
  r.accept.bonus,
];

// Of each round the tokens that the target said after its root, as many as the head drafted layers and one more; fewer
// where the run ends. A run's own text goes on from every round's start, whatever the round accepted of it.
export const wanted = rounds => {
  const said = rounds.flatMap(decided);
  let at = 0;
  return rounds.map(r => {
    const tokens = said.slice(at, at + r.layers.length + 1);
    at += r.accept.path.length;
    return tokens;
  });
};

// Ids of the candidates that say these tokens one after the other from the root, as far as the head scored them.
export const pathOf = ({candidates: {parent, token}}, tokens) => {
  const path = [];
  let at = 0;
  for (const wish of tokens) {
    at = parent.findIndex((of, i) => of === at && token[i] === wish) + 1;
    if (!at) break;
    path.push(at);
  }
  return path;
};

// Places of candidates, the best first, equal scores in creation order: the order of the re-rank.
export const byScore = score => Array.from(score.keys()).sort((a, b) => score[b] - score[a] || a - b);

export const sum = numbers => numbers.reduce((all, each) => all + each, 0);
export const mean = numbers => (numbers.length ? sum(numbers) / numbers.length : 0);
export const tauOf = lengths => (lengths.length ? 1 + mean(lengths) : 0);
