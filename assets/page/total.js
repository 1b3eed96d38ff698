// The slider ends at the number of candidates. Told to the browser only: there `config_of` answers for it. A number
// that is being typed ("1" on the way to "12") takes nothing away: the total that was chosen comes back.
(k, d, n) => {
  const {top_k, depth} = BOUNDS;
  const whole = (x, [low, high]) => Number.isInteger(x) && x >= low && x <= high;
  if (!whole(k, top_k) || !whole(d, depth)) return {__type__: 'update'};
  const maximum = k + d * k * k,
    chosen = (globalThis.treevizTotal ??= {});
  if (!whole(n, [1, Infinity])) return {__type__: 'update', maximum};
  if (n !== chosen.shown) chosen.wanted = n;
  chosen.shown = Math.min(chosen.wanted, maximum);
  return {__type__: 'update', maximum, value: chosen.shown};
}
