#!/usr/bin/env node
'use strict';

// What an ID costs in one process: node bench.js [PACKAGE...]
// Of leaf, from the host's buffer of a new store; of crypto.randomUUID(); and of the packages that are named and installed
// here, of @sapphire/snowflake and nodejs-snowflake. The best of thirty rounds each. Needs leafctl.
const { execFileSync } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');

const rounds = 30;
const count = 50000;

const known = {
  '@sapphire/snowflake': ({ Snowflake }) => {
    const snowflake = new Snowflake(1288834974657n);
    return () => snowflake.generate();
  },
  'nodejs-snowflake': ({ Snowflake }) => {
    const snowflake = new Snowflake({ instance_id: 1 });
    return () => snowflake.getUniqueID();
  },
};

async function best(draw, drawn) {
  let least = Infinity;
  for (let round = 0; round <= rounds; ++round) {
    const begin = process.hrtime.bigint();
    await draw();
    const each = Number(process.hrtime.bigint() - begin) / drawn;
    if (round > 0) least = Math.min(least, each);
  }
  return least;
}

function repeat(next) {
  return () => {
    let id;
    for (let i = 0; i < count; ++i) id = next();
    return id === undefined ? Promise.reject(new Error('no ID')) : undefined;
  };
}

async function main() {
  const folder = fs.mkdtempSync('/dev/shm/leaf-bench-');
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
  Object.assign(process.env, {
    LEAFCTL_STORE: `sqlite:${folder}/leaf.db`,
    LEAFCTL_RUNTIME_DIR: `${folder}/run`,
    LEAFCTL_CONFIG: '/dev/null',
  });
  execFileSync('leafctl', ['-q', 'init-db']);
  execFileSync('leafctl', ['-q', 'add-tag', 'bench', '--step', '1000000']);

  const leaf = require(process.env.LEAF_NODE_PACKAGE ?? 'leaf');
  const tag = leaf.allocator().tag('bench');
  const snowflake = await leaf.snowflake();
  await tag.take(3000000); // so that segments are as long as they get
  const figures = [
    ['leaf: tag.next()', await best(repeat(() => tag.next()), count)],
    ['leaf: await tag.nextAsync()', await best(async () => {
      for (let i = 0; i < count; ++i) await tag.nextAsync();
    }, count)],
    ['leaf: await tag.take(1000)', await best(async () => {
      for (let i = 0; i < count; i += 1000) await tag.take(1000);
    }, count)],
    ['leaf: snowflake.next()', await best(repeat(() => snowflake.next()), count)],
    ['crypto.randomUUID()', await best(repeat(() => crypto.randomUUID()), count)],
  ];
  for (const name of process.argv.slice(2)) {
    const next = known[name](require(require.resolve(name, { paths: [process.cwd()] })));
    figures.push([name, await best(repeat(next), count)]);
  }
  console.log(`node ${process.version}, libleaf ${leaf.version}`);
  for (const [what, each] of figures) console.log(`${each.toFixed(0).padStart(8)} ns  ${what}`);
}

main();
