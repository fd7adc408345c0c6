'use strict';

const assert = require('assert');
const { test } = require('node:test');
const { leaf, leafctl, newStore, start } = require('./support.js');

const closed = { name: 'LeafError', code: 'CLOSED', retryable: false };

test('a closed handle throws, and closes again without harm', async () => {
  newStore('order');
  const allocator = leaf.allocator();
  const order = allocator.tag('order');
  const snowflake = await leaf.snowflake();
  const store = leaf.store();
  order.next();
  for (const handle of [order, allocator, snowflake, store]) {
    assert.strictEqual(await handle.close(), undefined);
    assert.strictEqual(await handle.close(), undefined);
  }
  if (Symbol.asyncDispose) await order[Symbol.asyncDispose]();
  assert.throws(() => order.next(), closed);
  await assert.rejects(order.nextAsync(), closed);
  await assert.rejects(order.take(1), closed);
  await assert.rejects(order.range(1), closed);
  assert.throws(() => allocator.tag('order'), closed);
  assert.throws(() => allocator.store, closed);
  assert.throws(() => snowflake.next(), closed);
  assert.throws(() => snowflake.worker, closed);
  assert.throws(() => snowflake.layout, closed);
  await assert.rejects(store.tags(), closed);
  await assert.rejects(store.addTag('x'), closed);
});

test('an allocator closes its tags; what it gave before stays', async () => {
  newStore('order');
  const allocator = leaf.allocator();
  const tags = Array.from({ length: 3 }, () => allocator.tag('order'));
  await tags[1].close();
  const layout = leaf.layout('leaf');
  const closing = allocator.close();
  for (const tag of tags) assert.throws(() => tag.next(), closed);
  assert.strictEqual(tags[0].close(), closing);
  await closing;
  assert.ok(layout.decode(1n));
});

test('what is under way ends before the handle is closed', async () => {
  newStore('order --step 10');
  for (let round = 0; round < 20; ++round) {
    const allocator = leaf.allocator();
    const order = allocator.tag('order');
    const taken = Array.from({ length: 8 }, () => order.take(500));
    const closing = round % 2 === 0 ? allocator.close() : order.close();
    await assert.rejects(order.take(1), closed);
    for (const ids of await Promise.all(taken)) assert.ok(ids.every((id) => id > 0n));
    await closing;
    await allocator.close();
  }
  const snowflake = await leaf.snowflake();
  const taken = snowflake.take(1000);
  await snowflake.close();
  assert.strictEqual((await taken).length, 1000);
  const store = leaf.store();
  const tags = store.tags();
  await store.close();
  assert.strictEqual((await tags).length, 1);
});

test('the garbage collector closes, and a tag keeps its allocator', async () => {
  newStore('order');
  const { status, lines } = await start(`
    const tags = [];
    (async () => {
      for (let i = 0; i < 50; ++i) {
        leaf.allocator().tag('order').next();
        leaf.allocator().tag('order').take(5);
        leaf.store().tags();
        leaf.layout('leaf').decode(1n);
        await leaf.snowflake();
        if (i % 10 === 0) tags.push(leaf.allocator().tag('order'));
        gc();
        await new Promise(setImmediate);
      }
      const mapped = () => require('fs').readFileSync('/proc/self/maps', 'utf8').split('/run/').length - 1;
      for (let i = 0; i < 1000 && mapped() > 12; ++i) gc(), await new Promise(setImmediate);
      console.log(mapped() <= 12);
      for (const tag of tags) console.log(tag.next() > 0n, (await tag.take(3)).length);
    })();`, '--expose-gc').ended;
  assert.deepStrictEqual([status, lines], [0, ['true', ...Array(5).fill('true 3')]]);
});

test('a process that ends gives back the worker of its own', async () => {
  newStore();
  const { status, lines } = await start(`
    leaf.snowflake({ hostBuffer: false, workerName: 'one' }).then((snowflake) => console.log(String(snowflake.next())));
  `).ended;
  assert.deepStrictEqual([status, lines.length], [0, 1]);
  assert.strictEqual(JSON.parse(leafctl('workers', 'list', '-o', 'json')).state, 'idle');
});

test('processes end with calls under way, in all ways', async () => {
  newStore('order --step 10');
  const begin = `
    const order = leaf.allocator().tag('order');
    const away = leaf.store({ store: 'postgresql://127.0.0.1:1/x', timeout: 300 });
    for (let i = 0; i < 20; ++i) order.take(1000), leaf.snowflake();
    order.nextAsync(), away.tags().catch(() => {});`;
  const worker = `
    const { Worker } = require('worker_threads');
    const worker = new Worker(${JSON.stringify('const leaf = require(process.env.LEAF_NODE_PACKAGE);' + begin + `
      require('worker_threads').parentPort.postMessage(0);`)}, { eval: true });
    worker.once('message', () => worker.terminate().then(() => console.log('terminated')));`;
  for (const [code, wanted] of [
    [begin, 0],
    [`${begin} order.close(); away.close();`, 0],
    [`${begin} process.exit(3);`, 3],
    [`${begin} setImmediate(() => process.exit(4));`, 4],
    [worker, 0],
  ]) {
    const { status, signal, lines } = await start(code).ended;
    assert.deepStrictEqual([status, signal], [wanted, null], code);
    if (code === worker) assert.deepStrictEqual(lines, ['terminated']);
  }
});
