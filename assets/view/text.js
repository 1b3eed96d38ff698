// Texts and numbers as they are shown: minus signs, quotes, cut to so many cells. Knows no element and no trace.

export const num = (x, digits = 2) => {
  const text = Math.abs(x).toFixed(digits);
  return (x < 0 && Number(text) ? '\u2212' : '') + text;
};
export const short = p => (p >= 0.995 ? '1.0' : p < 0.005 ? '.00' : p.toFixed(2).slice(1));
export const quote = text => `\u201c${text}\u201d`;

// Cells that a text takes in a monospaced face; wide scripts take two.
export const cellsOf = text => {
  let n = 0;
  for (const char of text)
    n +=
      char.codePointAt(0) >= 0x1100 &&
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|[\u{1f000}-\u{3ffff}]/u.test(
        char,
      )
        ? 2
        : 1;
  return n;
};
export const clip = (text, cells) => {
  if (cellsOf(text) <= cells) return text;
  let out = '',
    n = 0;
  for (const char of text) {
    n += cellsOf(char);
    if (n > cells - 1) break;
    out += char;
  }
  return out + '…';
};
