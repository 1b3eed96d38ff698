import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import test from 'node:test';
import {Words, filled} from '../../assets/view/words.js';

const file = code => JSON.parse(readFileSync(new URL(`../../assets/words/${code}.json`, import.meta.url))).view;

test('names are filled in, and what is no value stays as it stands', () => {
  assert.equal(filled('{a} of {b}, {a}', {a: 1, b: '{a}'}), '1 of {a}, 1');
  assert.equal(filled('{toString}', {}), '{toString}');
});

test('one is said as one, in a group too', () => {
  const words = new Words({en: file('en'), zh: file('zh')}, 'en');
  assert.equal(words.say('gainBeyond', {n: 1}), ' The output had its end before the last of them.');
  assert.equal(words.say('gainBeyond', {n: 2}), ' The output had its end before the last 2.');
  assert.equal(words.say('scoreHint.soFar', {n: 1}), '1 candidate so far.');
  assert.equal(words.say('d.children', {n: 1}), 'its one candidate child');
  words.code = 'zh';
  assert.equal(words.say('d.children', {n: 3}), '它的 3 个候选孩子');
});

test('what a language lacks is said in English', () => {
  const words = new Words({en: {a: 'A', g: {b: 'B'}}, fr: {}}, 'fr');
  assert.equal(words.say('a'), 'A');
  assert.equal(words.say('g.b'), 'B');
  assert.deepEqual(words.of('g'), {b: 'B'});
  assert.equal(words.has('fr'), true);
  assert.equal(words.has('toString'), false);
});
