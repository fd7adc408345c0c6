'use strict';

const assert = require('assert');
const { pbkdf2 } = require('crypto');
const { test } = require('node:test');
const { promisify } = require('util');
const { SHARE_ENV, Worker } = require('worker_threads');
const { leaf, leafctl, newStore, ofShell } = require('./support.js');

/** What `expression`, which has `leaf`, gives in a worker thread: a text, or the code, message and hint of what it throws. */
function inWorker(env, expression) {
  const code = `
    const leaf = require(${JSON.stringify(process.env.LEAF_NODE_PACKAGE)});
    const { parentPort } = require('worker_threads');
    (async () => String(await (${expression})))()
      .catch((error) => [error.code, error.message, error.hint])
      .then((value) => parentPort.postMessage(value));`;
  return new Promise((resolve, reject) => {
    const worker = new Worker(code, { eval: true, env });
    worker.once('message', resolve).once('error', reject);
  });
}

const draw = `leaf.allocator().tag('order').next()`;

function refused(variable, hint) {
  return ['USAGE', `'${variable}' in this worker thread differs from the environment of the process, which libleaf uses`, hint];
}

const inMainThread = 'set it in process.env of the main thread, before the worker starts';
const or = (option) => `pass options.${option}, or ${inMainThread}`;

test('a worker thread with the environment of the process draws from the same store', async () => {
  newStore('order');
  assert.deepStrictEqual(ofShell('order'), [1n]);
  assert.strictEqual(await inWorker(undefined, draw), '2');
  assert.strictEqual(await inWorker({ ...process.env, OTHER: 'x' }, draw), '3');
  assert.strictEqual(await inWorker(SHARE_ENV, draw), '4');
  assert.strictEqual(await inWorker({ ...process.env, LEAFCTL_GROUP: '' }, draw), '5');
});

test('one with a variable of its own is refused, and told what to do', async () => {
  const other = newStore('order');
  const otherStore = process.env.LEAFCTL_STORE;
  newStore('order');
  const { LEAFCTL_STORE, LEAFCTL_CONFIG, ...without } = process.env;
  const env = { ...process.env, LEAFCTL_STORE: otherStore };
  const wanted = refused('LEAFCTL_STORE', or('store'));
  for (const expression of [draw, 'leaf.store().tags()', 'leaf.snowflake()'])
    assert.deepStrictEqual(await inWorker(env, expression), wanted);
  assert.deepStrictEqual(await inWorker({ ...without, LEAFCTL_CONFIG }, draw), wanted);
  assert.deepStrictEqual(await inWorker({ ...without, LEAFCTL_STORE }, draw), refused('LEAFCTL_CONFIG', or('configFile')));
  assert.deepStrictEqual(await inWorker({ ...process.env, HOME: other }, draw), refused('HOME', inMainThread));
  const named = `leaf.allocator({ store: process.env.LEAFCTL_STORE }).store`;
  assert.strictEqual(await inWorker(env, named), otherStore);
  assert.strictEqual(leaf.allocator().store, LEAFCTL_STORE);
});

test('what is not gone by may differ', async () => {
  newStore('order');
  const env = { ...process.env, LEAFCTL_WORKER_ID: '7', PGHOST: '/nowhere' };
  assert.strictEqual(await inWorker(env, draw), '1');
  assert.deepStrictEqual(await inWorker(env, 'leaf.snowflake()'), refused('LEAFCTL_WORKER_ID', inMainThread));
  const database = (more) => `leaf.allocator({ store: 'postgresql:///ids'${more} }).store`;
  assert.deepStrictEqual(await inWorker(env, database('')), refused('PGHOST', inMainThread));
  assert.deepStrictEqual(await inWorker(env, database(', useHostDefaults: false')), refused('PGHOST', inMainThread));
  const alone = `{ store: ${JSON.stringify(process.env.LEAFCTL_STORE)}, useHostDefaults: false }`;
  assert.match(await inWorker({}, `leaf.allocator(${alone}).store`), /^sqlite:/);
});

test('what the main thread sets later is not in the copy of a worker thread', async () => {
  newStore('order');
  const env = { ...process.env };
  process.env.LEAFCTL_GROUP = 'no';
  assert.deepStrictEqual(await inWorker(env, draw), refused('LEAFCTL_GROUP', or('group')));
  assert.strictEqual(await inWorker(undefined, draw), '1');
});

test('a generator is of the store that the environment named when it was asked for', async () => {
  newStore();
  leafctl('-q', 'init-db', '--layout', 'twitter');
  const { LEAFCTL_STORE, LEAFCTL_RUNTIME_DIR } = process.env;
  newStore();
  const later = { LEAFCTL_STORE: process.env.LEAFCTL_STORE, LEAFCTL_RUNTIME_DIR: process.env.LEAFCTL_RUNTIME_DIR };
  // What is asked for waits for a thread of the pool, which has four.
  const busy = Array.from({ length: 4 }, () => promisify(pbkdf2)('password', 'salt', 300_000, 64, 'sha512'));
  Object.assign(process.env, { LEAFCTL_STORE, LEAFCTL_RUNTIME_DIR });
  const asked = leaf.snowflake();
  Object.assign(process.env, later);
  assert.strictEqual((await asked).layout.toString(), leaf.layout('twitter').toString());
  assert.strictEqual((await leaf.snowflake()).layout.toString(), leaf.layout('leaf').toString());
  await Promise.all(busy);
});
