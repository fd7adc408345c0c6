// What mixed_storm.hpp asks of a program, in JavaScript.
const leaf = require(process.env.LEAF_NODE_PACKAGE);

async function main() {
  const tag = leaf.allocator().tag('storm');
  const generator = await leaf.snowflake({ workerName: 'storm' });
  for await (const line of require('readline').createInterface({ input: process.stdin })) {
    let lines = '';
    for (let i = 0; i < Number(line); ++i) {
      lines += `t${i % 3 === 0 ? await tag.nextAsync() : tag.next()}\n`;
      if (i % 4 === 0) lines += `s${generator.next()}\n`;
    }
    process.stdout.write(`${lines}.\n`);
  }
}

main().catch((error) => {
  console.log(error.message);
  process.exitCode = 1;
});
