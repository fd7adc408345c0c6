/// <reference types="node" />

/** A whole number: a BigInt, or a number that is a safe integer. */
export type Integer = bigint | number;

/**
 * What to open. What is left out is what all programs of this host go by: environment and leafctl.yaml(5). The
 * environment is that of the process: a worker thread whose process.env differs from it there is refused.
 */
export interface Options {
  /** `sqlite:PATH`, what libpq takes, or the name of a store in the configuration. */
  store?: string;
  /** The folder of the host's buffers. */
  runtimeDir?: string;
  /** In place of the user's configuration file. */
  configFile?: string;
  /** What the program goes by in the database. */
  program?: string;
  /** false: nothing is read from environment and files; `store` has to be given then. */
  useHostDefaults?: boolean;
  /** Whether the processes of the host share what is buffered. */
  hostBuffer?: boolean;
  /** Whether the group of the folder shares it too. */
  group?: boolean;
  /** How long a call may wait, in milliseconds; below 0: one attempt. 5000 if left out or 0. */
  timeout?: Integer;
}

export interface SnowflakeOptions extends Options {
  /** Stays the same over restarts; by default the configuration's, else this host's name. */
  workerName?: string;
  /** That the deployment has to have. */
  layout?: string;
}

export type ErrorCode =
  | 'FAILED'
  | 'USAGE'
  | 'UNAVAILABLE'
  | 'NOT_FOUND'
  | 'REFUSED'
  | 'EXHAUSTED'
  /** The handle was closed before. */
  | 'CLOSED';

/** What libleaf says is wrong. Arguments of the wrong type are TypeErrors, such as are out of bounds RangeErrors. */
export class LeafError extends Error {
  private constructor();
  readonly code: ErrorCode;
  /** What can be done about it, or an empty text. */
  readonly hint: string;
  /** Whether the same call may succeed later without anybody changing anything. */
  readonly retryable: boolean;
}

export interface Closable {
  /** Closes it for new calls at once; kept when those under way have ended and libleaf has closed it. */
  close(): Promise<void>;
}

/** What gives IDs. As an async iterable it gives one ID after the other, without end. */
export interface Source extends Closable, AsyncIterable<bigint> {
  /**
   * The next ID, from memory. With nothing buffered it blocks the event loop until the store has answered, at most
   * the timeout: at the first call, and when IDs are used up faster than they are fetched. `nextAsync()` never does.
   */
  next(): bigint;
  /** The next ID: from memory if one is there, else a thread of libuv's pool waits for it. */
  nextAsync(): Promise<bigint>;
  /** `count` IDs in increasing order, which need not be consecutive. */
  take(count: Integer): Promise<BigInt64Array>;
}

export interface Tag extends Source {
  readonly name: string;
  readonly allocator: Allocator;
  /** One run of consecutive IDs, 1 to `atMost` of them: lo, lo + 1n, …, hi - 1n. */
  range(atMost: Integer): Promise<{ lo: bigint; hi: bigint }>;
}

export interface Allocator extends Closable {
  /** The URL of the store, without a password. */
  readonly store: string;
  /** Whether the tag exists is found out when an ID is drawn. Closed with its allocator. */
  tag(name: string): Tag;
}

export interface Generator extends Source {
  /** The worker in use. */
  readonly worker: bigint;
  readonly layout: Layout;
}

export interface Decoded {
  /** When the unit of time began in which the ID was made. */
  time: Date;
  unixMs: number;
  /** All worker fields as one number. */
  worker: bigint;
  /** 0n without such a field. */
  sequence: bigint;
}

/** `unixMs` counts more than `time`; so what `decode()` gave is taken as it is. */
export type Parts = ({ time: Date | Integer; unixMs?: undefined } | { time?: Date | Integer; unixMs: Integer }) & {
  worker: Integer;
  sequence?: Integer;
};

export interface Layout {
  /** The form in which layouts are stored and compared. */
  readonly text: string;
  decode(id: Integer): Decoded;
  encode(parts: Parts): bigint;
  /** The least and the greatest ID of the times in [from, to), both included; numbers are Unix milliseconds. */
  bounds(from: Date | Integer, to: Date | Integer): { first: bigint; last: bigint };
}

export interface NewTag {
  /** 256 characters at most. */
  description?: string;
  /** IDs in a segment, a million at most; 1000 by default. */
  step?: Integer;
  /** The first ID; 1 by default. */
  start?: Integer;
  /** The last ID; MAX_ID by default. */
  limit?: Integer;
}

export interface TagInfo {
  name: string;
  description: string;
  /** The first ID that has not been granted to a host; past MAX_ID if none is left. */
  nextId: bigint;
  step: number;
  start: bigint;
  limit: bigint;
  updated: Date;
  /** The last grant, or null. */
  granted: Date | null;
}

export interface Store extends Closable {
  /** One that exists with the same values is no error. */
  addTag(name: string, tag?: NewTag): Promise<void>;
  tag(name: string): Promise<TagInfo>;
  /** All tags, by name. */
  tags(): Promise<TagInfo[]>;
}

/** Dense IDs of tags. Connects to nothing yet. */
export function allocator(options?: Options): Allocator;
/** Snowflakes: leases a worker, or takes the one that this host has. */
export function snowflake(options?: SnowflakeOptions): Promise<Generator>;
/** The tags of a store. Connects to nothing yet. */
export function store(options?: Options): Store;
/** A known layout by name, such as 'leaf' or 'twitter', or one by its bits, such as '41,10,12'. */
export function layout(text: string): Layout;

/** The greatest ID. */
export const MAX_ID: bigint;
/** The version of libleaf. */
export const version: string;
