#!/usr/bin/env node
'use strict';

// Builds leaf.node against the libleaf that pkg-config finds: CC, CFLAGS, LDFLAGS and PKG_CONFIG are heeded. No network.
const { execFileSync } = require('child_process');
const fs = require('fs');
const path = require('path');

function fail(text, hint) {
  console.error(`error: ${text}\nhint: ${hint}`);
  process.exit(1);
}

const words = (text) => text.split(/\s+/).filter((word) => word !== '');

function pkgConfig(...args) {
  try {
    return execFileSync(process.env.PKG_CONFIG ?? 'pkg-config', [...args, 'leaf'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }).trim();
  } catch {
    return fail("pkg-config does not find libleaf", 'install libleaf-dev and pkg-config, or set PKG_CONFIG_PATH');
  }
}

function nodeHeaders() {
  const beside = path.join(path.dirname(fs.realpathSync(process.execPath)), '..', 'include', 'node');
  const found = [process.env.NODE_INCLUDE_DIR, beside, '/usr/include/node', '/usr/include/nodejs/src'].find(
    (folder) => folder !== undefined && fs.existsSync(path.join(folder, 'node_api.h')),
  );
  return found ?? fail('there are no headers of Node.js', 'install libnode-dev, or name their folder in NODE_INCLUDE_DIR');
}

// Where the loader looks by itself: what is installed there can move with an upgrade.
const searched = /^(\/usr)?(\/local)?\/lib(64)?(\/[a-z0-9_]+-linux-[a-z0-9]+)?$/;

const sources = path.join(__dirname, 'src');
const folder = pkgConfig('--variable=libdir');
const command = [
  ...words(process.env.CC ?? 'cc'),
  ...['-std=c11', '-O2', '-fPIC', '-shared', '-fvisibility=hidden', '-Wl,-z,now', '-Wl,--as-needed'],
  `-DLEAF_BUILT_FOR="${pkgConfig('--modversion')}"`,
  `-I${nodeHeaders()}`,
  ...words(process.env.CFLAGS ?? ''),
  ...words(pkgConfig('--cflags')),
  ...fs.readdirSync(sources).filter((name) => name.endsWith('.c')).map((name) => path.join(sources, name)),
  ...['-o', path.join(__dirname, 'leaf.node')],
  ...words(process.env.LDFLAGS ?? ''),
  ...words(pkgConfig('--libs')),
  ...(searched.test(folder) ? [] : [`-Wl,-rpath,${folder}`]),
];
try {
  execFileSync(command[0], command.slice(1), { stdio: 'inherit' });
} catch (error) {
  fail(`leaf.node cannot be built: ${error.message.split('\n')[0]}`, 'install a C compiler such as gcc, or name yours in CC');
}
