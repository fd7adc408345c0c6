'use strict';

const { isMainThread } = require('worker_threads');
const { LeafError } = require('./error.js');
const native = require('./native.js');

// --- arguments: what is of the wrong type or out of bounds is refused as in Node.js itself

const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;

function wrongType(name, wanted) {
  const error = new TypeError(`${name} has to be ${wanted}`);
  error.code = 'ERR_INVALID_ARG_TYPE';
  return error;
}

function outOfRange(name, wanted, value) {
  const error = new RangeError(`${name} has to be ${wanted}, not ${String(value)}`);
  error.code = 'ERR_OUT_OF_RANGE';
  return error;
}

function text(value, name) {
  if (typeof value !== 'string') throw wrongType(name, 'a string');
  if (value.includes('\0')) throw outOfRange(name, 'without zero bytes', JSON.stringify(value));
  return value;
}

/** `value`, a BigInt or a safe integer, as a BigInt of 64 bits. */
function int64(value, name, least = minInt64) {
  if (typeof value !== 'bigint' && typeof value !== 'number') throw wrongType(name, 'a BigInt or a whole number');
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw outOfRange(name, 'a safe integer', value);
  const number = BigInt(value);
  if (number < least || number > maxInt64) throw outOfRange(name, `from ${least} to ${maxInt64}`, value);
  return number;
}

function time(value, name) {
  if (!(value instanceof Date)) return int64(value, name);
  if (Number.isNaN(value.getTime())) throw outOfRange(name, 'a valid Date', value);
  return BigInt(value.getTime());
}

function members(object, known, name) {
  if (typeof object !== 'object' || object === null) throw wrongType(name, 'an object');
  for (const key of Object.keys(object)) {
    if (!known.includes(key)) {
      const error = new TypeError(`${name} cannot have a member '${key}', but ${known.join(', ')}`);
      error.code = 'ERR_INVALID_ARG_VALUE';
      throw error;
    }
  }
}

const ofAll = ['store', 'runtimeDir', 'configFile', 'program', 'useHostDefaults', 'hostBuffer', 'group', 'timeout'];
const ofGenerators = ['workerName', 'layout'];

// --- the environment: libleaf goes by that of the process, also where a worker thread has another one in process.env

/** What stands for each in the options. */
const ofHost = {
  LEAFCTL_STORE: ['store'],
  LEAFCTL_RUNTIME_DIR: ['runtimeDir'],
  LEAFCTL_CONFIG: ['configFile'],
  LEAFCTL_HOST_BUFFER: ['hostBuffer'],
  LEAFCTL_GROUP: ['group'],
  XDG_CONFIG_HOME: ['configFile'],
  XDG_STATE_HOME: ['store'],
  HOME: ['configFile', 'store'],
};
const ofWorkers = { LEAFCTL_WORKER_NAME: ['workerName'], LEAFCTL_WORKER_ID: [], LEAFCTL_LAYOUT: ['layout'] };
/** libpq's, and the resolver's. */
const ofDatabases = /^(PG.*|HOME|LOCALDOMAIN|HOSTALIASES|RES_OPTIONS)$/;

function refuseOtherEnvironment(options, known) {
  const given = (key) => options[key] !== undefined;
  const read = {
    ...(options.useHostDefaults === false ? {} : ofHost),
    ...(options.useHostDefaults === false || !known.includes('workerName') ? {} : ofWorkers),
  };
  const isOfDatabase = !(options.store ?? process.env.LEAFCTL_STORE ?? '').startsWith('sqlite:');
  const isRead = (name) => {
    if (isOfDatabase && ofDatabases.test(name)) return true;
    return Object.hasOwn(read, name) && !(read[name].length > 0 && read[name].every(given));
  };
  const ofProcess = Object.fromEntries(native.environment().map((entry) => entry.split(/=(.*)/s, 2)));
  const names = [...new Set([...Object.keys(ofProcess), ...Object.keys(process.env)])].sort();
  // An empty one is as good as none.
  const other = names.find((name) => isRead(name) && (ofProcess[name] || '') !== (process.env[name] || ''));
  if (other === undefined) return;
  const inMainThread = 'set it in process.env of the main thread, before the worker starts';
  throw new LeafError(
    `'${other}' in this worker thread differs from the environment of the process, which libleaf uses`,
    'USAGE',
    read[other]?.length === 1 ? `pass options.${read[other][0]}, or ${inMainThread}` : inMainThread,
    false,
  );
}

/** As the addon takes them: with all members. */
function settings(options, known) {
  members(options, known, 'options');
  const optional = (key) => (options[key] === undefined ? undefined : text(options[key], `options.${key}`));
  const choice = (key) => {
    if (options[key] === undefined) return 0;
    if (typeof options[key] !== 'boolean') throw wrongType(`options.${key}`, 'a boolean');
    return options[key] ? 1 : 2;
  };
  const checked = {
    store: optional('store'),
    runtimeDir: optional('runtimeDir'),
    configFile: optional('configFile'),
    program: optional('program'),
    workerName: optional('workerName'),
    layout: optional('layout'),
    useHostDefaults: choice('useHostDefaults'),
    hostBuffer: choice('hostBuffer'),
    group: choice('group'),
    timeout: options.timeout === undefined ? 0n : int64(options.timeout, 'options.timeout'),
  };
  if (!isMainThread) refuseOtherEnvironment(options, known);
  return checked;
}

/** An error of another thread has no stack: it gets that of who waits for it. */
async function ended(promise) {
  try {
    return await promise;
  } catch (error) {
    Error.captureStackTrace(error);
    throw error;
  }
}

// --- handles

const secret = Symbol('secret');

class Handle {
  #native;
  #closing;

  constructor(key, handle) {
    if (key !== secret) throw new TypeError('Illegal constructor');
    this.#native = handle;
  }

  static of(object) {
    return object.#native;
  }

  static closingOf(object) {
    return object.#closing;
  }

  close() {
    return (this.#closing ??= Promise.resolve(native.close(this.#native)));
  }
}

if (Symbol.asyncDispose !== undefined) {
  Object.defineProperty(Handle.prototype, Symbol.asyncDispose, {
    value() {
      return this.close();
    },
  });
}

// Where the addon leaves an ID: to read it here costs less than a BigInt that crosses.
const drawnId = new BigInt64Array(native.drawn, 0, 1);
const isDrawn = new Int32Array(native.drawn, 8, 1);

class Source extends Handle {
  #draw;

  constructor(key, handle) {
    super(key, handle);
    this.#draw = native.drawer(handle);
  }

  next() {
    this.#draw();
    return isDrawn[0] !== 0 ? drawnId[0] : native.next(Handle.of(this));
  }

  async nextAsync() {
    this.#draw();
    return isDrawn[0] !== 0 ? drawnId[0] : await ended(native.nextLater(Handle.of(this)));
  }

  async take(count) {
    if (typeof count !== 'number' && typeof count !== 'bigint') throw wrongType('count', 'a whole number');
    const size = Number(count);
    if (!Number.isSafeInteger(size) || size < 0) throw outOfRange('count', 'a whole number, 0 or more', count);
    const ids = new BigInt64Array(size);
    await ended(native.fill(Handle.of(this), ids));
    return ids;
  }

  async *[Symbol.asyncIterator]() {
    for (;;) yield await this.nextAsync();
  }
}

class Tag extends Source {
  #name;
  #allocator; // whose handle lives as long

  constructor(key, handle, name, allocator) {
    super(key, handle);
    this.#name = name;
    this.#allocator = allocator;
  }

  get name() {
    return this.#name;
  }

  get allocator() {
    return this.#allocator;
  }

  close() {
    return Handle.closingOf(this.#allocator) ?? super.close();
  }

  async range(atMost) {
    return await ended(native.range(Handle.of(this), int64(atMost, 'atMost', 1n)));
  }
}

class Allocator extends Handle {
  get store() {
    return native.storeOfAllocator(Handle.of(this));
  }

  tag(name) {
    const handle = native.openTag(Handle.of(this), text(name, 'name'));
    return new Tag(secret, handle, name, this);
  }
}

class Layout {
  #native;

  constructor(key, handle) {
    if (key !== secret) throw new TypeError('Illegal constructor');
    this.#native = handle;
  }

  get text() {
    return native.layoutText(this.#native);
  }

  toString() {
    return this.text;
  }

  decode(id) {
    const { unixMs, worker, sequence } = native.decode(this.#native, int64(id, 'id'));
    return { time: new Date(unixMs), unixMs, worker, sequence };
  }

  encode(parts) {
    members(parts, ['time', 'unixMs', 'worker', 'sequence'], 'parts');
    const { time: date, unixMs = date, worker, sequence = 0n } = parts;
    return native.encode(
      this.#native,
      time(unixMs, parts.unixMs === undefined ? 'parts.time' : 'parts.unixMs'),
      int64(worker, 'parts.worker'),
      int64(sequence, 'parts.sequence'),
    );
  }

  bounds(from, to) {
    return native.bounds(this.#native, time(from, 'from'), time(to, 'to'));
  }
}

class Generator extends Source {
  #layout;

  get worker() {
    return native.worker(Handle.of(this));
  }

  get layout() {
    return (this.#layout ??= new Layout(secret, native.layoutOfGenerator(Handle.of(this))));
  }
}

class Store extends Handle {
  async addTag(name, tag = {}) {
    members(tag, ['description', 'step', 'start', 'limit'], 'tag');
    const description = tag.description === undefined ? undefined : text(tag.description, 'tag.description');
    const number = (key) => (tag[key] === undefined ? 0n : int64(tag[key], `tag.${key}`, 1n));
    await ended(
      native.addTag(
        Handle.of(this),
        text(name, 'name'),
        description,
        number('step'),
        number('start'),
        number('limit'),
      ),
    );
  }

  async tag(name) {
    return await ended(native.storeTag(Handle.of(this), text(name, 'name')));
  }

  async tags() {
    return await ended(native.storeTags(Handle.of(this)));
  }
}

function allocator(options = {}) {
  return new Allocator(secret, native.openAllocator(settings(options, ofAll)));
}

async function snowflake(options = {}) {
  return new Generator(secret, await ended(native.openGenerator(settings(options, [...ofAll, ...ofGenerators]))));
}

function store(options = {}) {
  return new Store(secret, native.openStore(settings(options, ofAll)));
}

function layout(name) {
  return new Layout(secret, native.parseLayout(text(name, 'layout')));
}

const MAX_ID = native.maxId;
const version = native.version;

module.exports = { allocator, snowflake, store, layout, LeafError, MAX_ID, version };
