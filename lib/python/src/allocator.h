/* Allocators and their tags: an allocator has to stay open until the last of its tags is closed. */
#ifndef LEAF_PYTHON_ALLOCATOR_H
#define LEAF_PYTHON_ALLOCATOR_H

#include "draw.h"

struct Allocator;

typedef struct Tag {
  Source source;
  struct Allocator* allocator; /* which it keeps */
  struct Tag* previous;        /* among the open ones */
  struct Tag* next;
  PyObject* name;
} Tag;

/* Counts its open tags among those who use it. */
typedef struct Allocator {
  HandleObject base;
  Tag* tags;
  PyObject* store;
} Allocator;

/* Allocator.tag(name) */
PyObject* open_tag(PyObject* allocator, PyObject* name);

#endif
