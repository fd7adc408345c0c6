'use strict';

const assert = require('assert');
const fs = require('fs');
const path = require('path');
const { test } = require('node:test');
const { leaf, newStore, ofShell, start, allDiffer } = require('./support.js');

test('the shell and Node.js draw from one buffer', async () => {
  newStore('order');
  assert.deepStrictEqual(ofShell('order', '-n', '2'), [1n, 2n]);
  const allocator = leaf.allocator();
  const order = allocator.tag('order');
  assert.strictEqual(order.next(), 3n);
  assert.strictEqual(await order.nextAsync(), 4n);
  assert.deepStrictEqual(await order.take(3), BigInt64Array.of(5n, 6n, 7n));
  assert.deepStrictEqual(await order.range(2), { lo: 8n, hi: 10n });
  assert.deepStrictEqual(ofShell('order'), [10n]);
  assert.strictEqual(order.next(), 11n);
  assert.strictEqual(order.name, 'order');
  assert.strictEqual(order.allocator, allocator);
  assert.strictEqual(allocator.store, process.env.LEAFCTL_STORE);
});

test('take() and range() take any count, as a number or a BigInt', async () => {
  newStore('order --step 10');
  const order = leaf.allocator().tag('order');
  assert.deepStrictEqual(await order.take(0), new BigInt64Array(0));
  const ids = await order.take(100000n);
  assert.strictEqual(ids.length, 100000);
  assert.ok(ids.every((id, i) => i === 0 || id > ids[i - 1]));
  const { lo, hi } = await order.range(2n ** 63n - 1n);
  assert.ok(lo > ids.at(-1) && hi > lo);
});

test('a tag, and a generator, are async iterables', async () => {
  newStore('order');
  const drawn = [];
  for await (const id of leaf.allocator().tag('order')) if (drawn.push(id) === 5) break;
  assert.deepStrictEqual(drawn, [1n, 2n, 3n, 4n, 5n]);
  for await (const id of await leaf.snowflake()) if (drawn.push(id) === 7) break;
  assert.ok(drawn[6] > drawn[5] && drawn[5] > drawn[4]);
  assert.deepStrictEqual(ofShell('order'), [6n]); // nothing was drawn ahead
});

test('many promises at once, and draws in between, give each ID once', async () => {
  newStore('order --step 10');
  const order = leaf.allocator().tag('order');
  const one = Array.from({ length: 500 }, () => order.nextAsync());
  const many = Array.from({ length: 50 }, (_, i) => order.take(i));
  const ids = Array.from({ length: 500 }, () => order.next());
  ids.push(...(await Promise.all(one)));
  for (const taken of await Promise.all(many)) ids.push(...taken);
  assert.strictEqual(ids.length, 1000 + (49 * 50) / 2);
  allDiffer(ids);
});

test('worker threads draw from the same buffer', async () => {
  newStore('order --step 10');
  const { Worker } = require('worker_threads');
  const code = `
    const leaf = require(process.env.LEAF_NODE_PACKAGE);
    (async () => {
      const order = leaf.allocator().tag('order');
      const snowflake = await leaf.snowflake();
      const ids = [], snowflakes = [];
      for (let i = 0; i < 500; ++i) ids.push(order.next(), await order.nextAsync()), snowflakes.push(snowflake.next());
      ids.push(...(await order.take(500)));
      let error;
      try { leaf.allocator().tag('none').next(); } catch (e) { error = e; }
      const isOfThisThread = error instanceof leaf.LeafError && error.code === 'NOT_FOUND';
      require('worker_threads').parentPort.postMessage({ ids, snowflakes, isOfThisThread });
    })();`;
  const results = await Promise.all(
    Array.from({ length: 4 }, () => new Promise((resolve, reject) => {
      const worker = new Worker(code, { eval: true });
      let result;
      worker.on('message', (message) => (result = message));
      worker.on('error', reject);
      worker.on('exit', () => resolve(result));
    })),
  );
  assert.ok(results.every((result) => result.isOfThisThread && result.ids.length === 1500));
  allDiffer(results.flatMap((result) => result.ids));
  allDiffer(results.flatMap((result) => result.snowflakes));
  for (const { ids } of results) assert.ok(ids.every((id, i) => i === 0 || id > ids[i - 1]));
});

test('processes at once, some of them killed, and the shell never get the same ID', async () => {
  newStore('order --step 20');
  const code = (count) => `
    const fs = require('fs');
    const order = leaf.allocator().tag('order');
    for (let i = 0; i < ${count}; ++i) fs.writeSync(1, order.next() + '\\n');`;
  const killed = [1, 2, 3].map(() => start(code(1e9)));
  const whole = [1, 2, 3].map(() => start(code(3000)));
  const shell = Array.from({ length: 20 }, () => ofShell('order')[0]);
  await Promise.all(killed.map((process) => process.seen));
  for (const { child } of killed) child.kill('SIGKILL');
  const ends = await Promise.all([...killed, ...whole].map((process) => process.ended));
  assert.deepStrictEqual(ends.map((end) => end.signal), ['SIGKILL', 'SIGKILL', 'SIGKILL', null, null, null]);
  assert.ok(ends.slice(3).every((end) => end.status === 0 && end.lines.length === 3000));
  allDiffer([...shell, ...ends.flatMap((end) => end.lines.map(BigInt)), ...ofShell('order')]);
});

test('snowflakes increase, and hold what the generator says', async () => {
  newStore();
  const snowflake = await leaf.snowflake({ workerName: 'here' });
  const ids = Array.from({ length: 1000 }, () => snowflake.next());
  ids.push(await snowflake.nextAsync(), ...(await snowflake.take(1000)));
  assert.ok(ids.every((id, i) => i === 0 || id > ids[i - 1]));
  const decoded = snowflake.layout.decode(ids[0]);
  assert.strictEqual(decoded.worker, snowflake.worker);
  assert.ok(Math.abs(decoded.time - Date.now()) < 600000);
  assert.strictEqual(snowflake.layout.encode(decoded), ids[0]);
});

test('layouts take apart and put together', () => {
  const layout = leaf.layout('leaf');
  assert.strictEqual(layout.text, 'time:41,worker:10,sequence:12/1ms@1288834974657');
  assert.strictEqual(`${layout}`, layout.text);
  const time = new Date('2026-11-20T13:25:15.874Z');
  assert.deepStrictEqual(layout.decode(2123769645491028064n),
    { time, unixMs: time.getTime(), worker: 0n, sequence: 96n });
  assert.deepStrictEqual(layout.decode(1), layout.decode(1n));
  assert.strictEqual(layout.encode({ time, worker: 0, sequence: 96 }), 2123769645491028064n);
  assert.strictEqual(layout.encode({ unixMs: BigInt(time.getTime()), worker: 0n, sequence: 96n }), 2123769645491028064n);
  const { first, last } = layout.bounds(time, time.getTime() + 1);
  assert.strictEqual(first, layout.encode({ time, worker: 0 }));
  assert.strictEqual(last, layout.encode({ time, worker: 1023, sequence: 4095 }));
});

test('a store adds tags and shows them', async () => {
  newStore();
  const store = leaf.store();
  await store.addTag('order', { description: 'shop örders', step: 5, start: 100n, limit: 2n ** 60n });
  await store.addTag('order', { description: 'shop örders', step: 5, start: 100n, limit: 2n ** 60n });
  await store.addTag('invoice');
  const before = await store.tag('order');
  assert.ok(before.updated instanceof Date && before.granted === null);
  delete before.updated;
  assert.deepStrictEqual(before, {
    name: 'order', description: 'shop örders', nextId: 100n, step: 5, start: 100n, limit: 2n ** 60n, granted: null });
  assert.strictEqual(leaf.allocator().tag('order').next(), 100n);
  const tags = await store.tags();
  assert.deepStrictEqual(tags.map((tag) => tag.name), ['invoice', 'order']);
  assert.deepStrictEqual([tags[0].description, tags[0].step, tags[0].limit], ['', 1000, leaf.MAX_ID]);
  assert.ok(tags[1].granted instanceof Date && tags[1].nextId > 100n);
});

test('options say what else to open', async () => {
  const folder = newStore('order');
  const other = newStore('order');
  const options = { store: `sqlite:${folder}/leaf.db`, useHostDefaults: false, timeout: 1000n, program: 'shop' };
  const own = leaf.allocator(options).tag('order');
  const shared = leaf.allocator({ ...options, runtimeDir: `${folder}/run` }).tag('order');
  assert.strictEqual(own.next(), 1n);
  assert.strictEqual(shared.next(), 1001n);
  assert.strictEqual(leaf.allocator().tag('order').next(), 1n);
  const config = path.join(other, 'leafctl.yaml');
  fs.writeFileSync(config, `stores:\n  shop: sqlite:${folder}/leaf.db\n`);
  assert.strictEqual(leaf.allocator({ configFile: config, store: 'shop' }).store, `sqlite:${folder}/leaf.db`);
  assert.strictEqual(leaf.allocator({ hostBuffer: false, group: false, store: `sqlite:${folder}/leaf.db` })
    .tag('order').next(), 2001n);
});

test('modules of ECMAScript import it by name', async () => {
  newStore('order');
  const { status, lines } = await start(`
    import(require.resolve(process.env.LEAF_NODE_PACKAGE)).then(({ allocator, LeafError, default: all }) => {
      console.log(allocator().tag('order').next(), typeof LeafError, all.version);
    });`).ended;
  assert.deepStrictEqual([status, lines], [0, [`1n function ${leaf.version}`]]);
});

test('the types name all that there is', async () => {
  newStore('order');
  const types = fs.readFileSync(path.join(process.env.LEAF_NODE_PACKAGE, 'index.d.ts'), 'utf8');
  const names = Object.keys(leaf);
  const snowflake = await leaf.snowflake();
  for (const object of [leaf.allocator(), leaf.allocator().tag('order'), leaf.store(), snowflake, snowflake.layout])
    for (let shape = Object.getPrototypeOf(object); shape !== Object.prototype; shape = Object.getPrototypeOf(shape))
      names.push(...Object.getOwnPropertyNames(shape));
  const missing = names.filter((name) => !['constructor', 'toString'].includes(name))
    .filter((name) => !new RegExp(`(^ *(readonly )?|(class|function|const) )${name}\\b`, 'm').test(types));
  assert.deepStrictEqual(missing, []);
});
