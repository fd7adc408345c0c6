'use strict';

// Loads the addon, and says it plainly where the libleaf that is installed is not the one it needs.
const { LeafError } = require('./error.js');

function load() {
  try {
    return require('./leaf.node');
  } catch (cause) {
    const hint = cause.code === 'MODULE_NOT_FOUND'
      ? 'build it with a C compiler, pkg-config and the development files of libleaf'
      : 'install the libleaf that the addon was built for, or build the addon again';
    throw new LeafError(`the addon of libleaf cannot be loaded: ${cause.message}`, 'FAILED', hint, false, { cause });
  }
}

function isBelow(version, other) {
  const parts = version.split('.').map(Number);
  const others = other.split('.').map(Number);
  const differing = parts.findIndex((part, i) => part !== others[i]);
  return differing >= 0 && parts[differing] < others[differing];
}

const native = load();
if (isBelow(native.version, native.builtFor)) {
  throw new LeafError(
    `libleaf ${native.version} is installed, but the addon was built for ${native.builtFor}`,
    'FAILED',
    `install libleaf ${native.builtFor} or later`,
    false,
  );
}
native.useErrorClass(LeafError);

module.exports = native;
