// The words of a language: those of `assets/words/*.json`, section "view". A template's {names} are filled in; where
// there is "x.one", it is what "x" says when n is 1.

export const filled = (template, values) =>
  template.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole));

// words: {code: the section "view" of that language}. A word that a language lacks is said in English.
export class Words {
  constructor(words, code) {
    this.words = words;
    this.code = code;
  }

  has(code) {
    return Object.hasOwn(this.words, code ?? '');
  }
  get codes() {
    return Object.keys(this.words);
  }

  // A text, a list or a group of texts.
  of(key) {
    return this.words[this.code]?.[key] ?? this.words.en?.[key];
  }

  // A text by its key, "group.key" too, with its names filled in.
  say(key, values = {}) {
    const found = code => {
      const part = key.split('.')[0],
        group = this.words[code]?.[part];
      const [table, name] =
        group && typeof group === 'object' && !Array.isArray(group)
          ? [group, key.slice(part.length + 1)]
          : [this.words[code] ?? {}, key];
      return (values.n === 1 && table[`${name}.one`]) || table[name];
    };
    return filled(found(this.code) ?? found('en') ?? '', values);
  }
}
