'use strict';

// A home of its own for each test, with a store in SQLite that all programs go by.
const { execFileSync, spawn } = require('child_process');
const fs = require('fs');

const leaf = require(process.env.LEAF_NODE_PACKAGE);

const folders = [];
process.on('exit', () => {
  // Who fetches ahead in the background may still write into it.
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
});

function newFolder() {
  const folder = fs.mkdtempSync('/dev/shm/leaf-node-');
  folders.push(folder);
  return folder;
}

const leafctl = (...args) => execFileSync('leafctl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** The environment leads all to a new store, which has the tags. */
function newStore(...tags) {
  const folder = newFolder();
  for (const name of Object.keys(process.env)) if (/^(LEAFCTL|XDG)_/.test(name)) delete process.env[name];
  Object.assign(process.env, {
    HOME: folder,
    LEAFCTL_STORE: `sqlite:${folder}/leaf.db`,
    LEAFCTL_RUNTIME_DIR: `${folder}/run`,
    LEAFCTL_CONFIG: '/dev/null',
  });
  leafctl('-q', 'init-db');
  for (const tag of tags) leafctl('-q', 'add-tag', ...tag.split(' '));
  return folder;
}

/** The next IDs of the shell. */
const ofShell = (...args) => leafctl('next', ...args).trim().split('\n').map(BigInt);

/** A process that runs `code`, which has `leaf`; `lines` are those of its output that are whole. */
function start(code, ...args) {
  const child = spawn(process.execPath, [...args, '-e', `const leaf = require(process.env.LEAF_NODE_PACKAGE);${code}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8');
  const seen = new Promise((resolve) => child.stdout.once('data', resolve));
  child.stdout.on('data', (data) => (output += data));
  const ended = new Promise((resolve) => {
    child.on('close', (status, signal) => resolve({ status, signal, lines: output.split('\n').slice(0, -1) }));
  });
  return { child, seen, ended };
}

function allDiffer(ids) {
  const count = new Set(ids).size;
  if (count !== ids.length) throw new Error(`${ids.length - count} of ${ids.length} IDs are duplicates`);
}

module.exports = { leaf, leafctl, newFolder, newStore, ofShell, start, allDiffer };
