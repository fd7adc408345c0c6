/* What tags and snowflakes have in common: how IDs are drawn. */
#ifndef LEAF_PYTHON_DRAW_H
#define LEAF_PYTHON_DRAW_H

#include "handle.h"

/* What objects that IDs are drawn from begin with. */
typedef struct Source {
  HandleObject base;
  int (*try_next)(void* handle, int64_t* id);
  leaf_status (*next)(void* handle, int64_t* id, leaf_error** error);
  leaf_status (*fill)(void* handle, int64_t* ids, size_t count, leaf_error** error);
} Source;

/* The next ID, by a call that may wait: the GIL is free meanwhile. */
PyObject* draw_waiting(PyObject* source);

/* Methods: try_next() and take(count). */
PyObject* draw_if_there(PyObject* source, PyObject* unused);
PyObject* draw_many(PyObject* source, PyObject* count);

#endif
