'use strict';

const assert = require('assert');
const { execFileSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const { test } = require('node:test');
const { leaf, newFolder, newStore } = require('./support.js');

const failure = (code, more = {}) => (error) => {
  assert.ok(error instanceof leaf.LeafError && error instanceof Error, `${error.stack}`);
  assert.strictEqual(error.name, 'LeafError');
  assert.strictEqual(error.code, code, error.message);
  assert.strictEqual(typeof error.hint, 'string');
  assert.strictEqual(error.retryable, code === 'UNAVAILABLE');
  for (const key of Object.keys(more)) assert.match(error[key], more[key]);
  return true;
};

test('each code is reached, at once and by promise', async () => {
  const folder = newStore('short --limit 3', 'order --step 10', 'old --step 10');
  const allocator = leaf.allocator();
  const none = allocator.tag('ordr');
  assert.throws(() => none.next(), failure('NOT_FOUND', { message: /^tag 'ordr' does not exist$/, hint: /./ }));
  await assert.rejects(none.nextAsync(), failure('NOT_FOUND', { stack: /errors\.test\.js/ }));
  await assert.rejects(none.take(2), failure('NOT_FOUND'));
  await assert.rejects(none.range(2), failure('NOT_FOUND'));

  const short = allocator.tag('short');
  await assert.rejects(short.take(4), failure('EXHAUSTED'));
  assert.throws(() => leaf.layout('leaf').encode({ time: 0, worker: 0 }), failure('EXHAUSTED'));

  for (const name of ['', 'no tag', 'ä', 'x'.repeat(129)])
    assert.throws(() => allocator.tag(name), failure('USAGE'));
  assert.throws(() => leaf.layout('41,10,13'), failure('USAGE'));
  assert.throws(() => leaf.layout('leaf').decode(-1n), failure('USAGE'));
  assert.throws(() => leaf.layout('leaf').encode({ time: new Date(), worker: 1024 }), failure('USAGE'));
  assert.throws(() => leaf.layout('leaf').bounds(new Date(2e12), new Date(1e12)), failure('USAGE'));
  assert.throws(() => leaf.allocator({ useHostDefaults: false }), failure('USAGE'));
  await assert.rejects(leaf.snowflake({ layout: 'twitter:41,5,5,12/1ms@0' }), failure('USAGE'));

  const away = { store: 'sqlite:/nonexistent/leaf.db', timeout: -1 };
  await assert.rejects(leaf.store(away).tags(), failure('USAGE', { message: /does not exist/ }));
  const store = leaf.store();
  await assert.rejects(store.tag('ordr'), failure('NOT_FOUND'));
  await assert.rejects(store.addTag('x', { step: 1000001 }), failure('USAGE'));
  await assert.rejects(store.addTag('order', { step: 11 }), failure('FAILED'));

  const unreachable = { store: 'postgresql://127.0.0.1:1/ids', timeout: -1 };
  await assert.rejects(leaf.store(unreachable).tags(), failure('UNAVAILABLE'));
  await assert.rejects(leaf.snowflake(unreachable), failure('UNAVAILABLE'));

  // A store that was put back to a copy has granted less than this host has seen.
  fs.copyFileSync(path.join(folder, 'leaf.db'), path.join(folder, 'copy'));
  await allocator.tag('old').take(100);
  await allocator.close();
  fs.copyFileSync(path.join(folder, 'copy'), path.join(folder, 'leaf.db'));
  await assert.rejects(leaf.allocator().tag('old').take(100000), failure('REFUSED', { hint: /./ }));
});

test('what has no store says so', async () => {
  const folder = newFolder();
  newStore();
  const nowhere = { store: `sqlite:${folder}/none.db`, timeout: -1 };
  for (const ask of [() => leaf.store(nowhere).tags(), () => leaf.snowflake(nowhere)])
    await assert.rejects(ask, (error) => error instanceof leaf.LeafError && error.message !== '' && error.hint !== '');
  assert.throws(() => leaf.allocator(nowhere).tag('order').next(), leaf.LeafError);
});

test('arguments of the wrong type, or out of bounds, are refused before anything is drawn', async () => {
  newStore('order');
  const allocator = leaf.allocator();
  const order = allocator.tag('order');
  const type = { name: 'TypeError' };
  const range = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
  for (const count of [undefined, null, '3', {}, [], true, Symbol('x')]) {
    await assert.rejects(order.take(count), type);
    await assert.rejects(order.range(count), type);
  }
  for (const count of [-1, -1n, 1.5, NaN, Infinity, 2 ** 53, 2n ** 63n, 2n ** 64n]) {
    await assert.rejects(order.take(count), range);
    await assert.rejects(order.range(count), range);
  }
  await assert.rejects(order.take(Number.MAX_SAFE_INTEGER), { name: 'RangeError' });
  await assert.rejects(order.range(0), range);
  for (const name of [undefined, null, 3, {}, Buffer.from('order')]) assert.throws(() => allocator.tag(name), type);
  assert.throws(() => allocator.tag('a\0b'), range);

  for (const options of [null, 3, 'x']) assert.throws(() => leaf.allocator(options), type);
  assert.throws(() => leaf.allocator({ stroe: 'x' }), /cannot have a member 'stroe', but store, /);
  assert.throws(() => leaf.allocator({ workerName: 'x' }), type);
  for (const key of ['store', 'runtimeDir', 'configFile', 'program'])
    assert.throws(() => leaf.allocator({ [key]: 3 }), type);
  for (const key of ['useHostDefaults', 'hostBuffer', 'group']) assert.throws(() => leaf.store({ [key]: 1 }), type);
  assert.throws(() => leaf.allocator({ timeout: '3' }), type);
  for (const timeout of [0.5, 2n ** 63n]) assert.throws(() => leaf.allocator({ timeout }), range);
  await assert.rejects(leaf.snowflake({ layout: 41 }), type);

  const layout = leaf.layout('leaf');
  for (const id of [undefined, '1', null]) assert.throws(() => layout.decode(id), type);
  for (const id of [2n ** 63n, -(2n ** 63n) - 1n, 2 ** 60, 0.5]) assert.throws(() => layout.decode(id), range);
  assert.throws(() => layout.encode({ time: new Date(NaN), worker: 0 }), range);
  assert.throws(() => layout.encode({ time: new Date(), worker: 2n ** 63n }), range);
  assert.throws(() => layout.encode({ time: new Date() }), type);
  assert.throws(() => layout.encode({ worker: 1 }), type);
  assert.throws(() => layout.encode(), type);
  assert.throws(() => layout.bounds(new Date()), type);

  const store = leaf.store();
  await assert.rejects(store.addTag(), type);
  await assert.rejects(store.addTag('x', { stpe: 3 }), type);
  for (const step of [0, -1, 2n ** 63n]) await assert.rejects(store.addTag('x', { step }), range);
  await assert.rejects(store.tag(), type);
  assert.strictEqual((await store.tags()).length, 1);

  assert.throws(() => order.next.call({}), type);
  assert.throws(() => new order.constructor(), type);
  assert.throws(() => new layout.constructor(), type);
  assert.strictEqual(order.next(), 1n);
});

test('the addon takes nothing that is no handle', () => {
  newStore('order');
  const native = require(path.join(process.env.LEAF_NODE_PACKAGE, 'leaf.node'));
  for (const name of Object.keys(native)) {
    if (typeof native[name] !== 'function' || ['environment', 'useErrorClass'].includes(name)) continue;
    assert.throws(() => native[name](), TypeError, name);
    for (const value of [undefined, null, 3, 'x', {}, [], 3n, () => {}]) {
      if (name === 'parseLayout' && value === 'x') continue;
      assert.throws(() => native[name](value, value, value, value, value, value), TypeError, `${name} ${typeof value}`);
    }
  }
});

test('a libleaf older than the addon was built for is named', () => {
  newStore();
  const folder = newFolder();
  const build = (version, missing) => {
    const known = execFileSync('nm', ['-D', '--undefined-only', path.join(process.env.LEAF_NODE_PACKAGE, 'leaf.node')],
      { encoding: 'utf8' });
    const names = [...new Set(known.match(/\bleaf_\w+/g))].filter((name) => name !== 'leaf_version' && name !== missing);
    const code = names.map((name) => `void ${name}(void) {}`).join('\n');
    fs.writeFileSync(`${folder}/a.c`, `${code}\nconst char* leaf_version(void) { return "${version}"; }\n`);
    fs.writeFileSync(`${folder}/map`, 'LEAF_C_0 { global: leaf_*; local: *; };\n');
    execFileSync('cc', ['-shared', '-fPIC', '-Wl,-soname,libleaf.so.0', `-Wl,--version-script=${folder}/map`,
      '-o', `${folder}/libleaf.so.0`, `${folder}/a.c`]);
  };
  const code = `
    try { require(process.env.LEAF_NODE_PACKAGE) } catch (e) { console.log(e.name, e.code, e.message + '|' + e.hint) }`;
  const run = () =>
    execFileSync(process.execPath, ['-e', code],
      { encoding: 'utf8', env: { ...process.env, LD_LIBRARY_PATH: `${folder}:${process.env.LD_LIBRARY_PATH ?? ''}` } });
  build('0.0.9');
  assert.match(run(), /^LeafError FAILED libleaf 0\.0\.9 is installed, but the addon was built for \d.*\|install /);
  build('0.0.8', 'leaf_store_tags');
  assert.match(run(), /^LeafError FAILED the addon of libleaf cannot be loaded: .*leaf_store_tags.*\|install /);
});
