'use strict';

class LeafError extends Error {
  constructor(message, code, hint, retryable, options) {
    super(message, options);
    this.code = code;
    this.hint = hint;
    this.retryable = retryable;
  }
}

Object.defineProperty(LeafError.prototype, 'name', { value: 'LeafError', configurable: true, writable: true });

module.exports = { LeafError };
