/* leaf_options from keyword arguments. */
#ifndef LEAF_PYTHON_OPTIONS_H
#define LEAF_PYTHON_OPTIONS_H

#include <stdbool.h>

#include "module.h"

/* The texts in `options` live as long as their holders. */
typedef struct Options {
  leaf_options options;
  PyObject* holders[6];
} Options;

/* False with an exception set. Both kinds are to be freed with free_options(), whatever came of it. Those of
 * a generator may name a worker and a layout too. */
bool parse_options(const ModuleState* state, PyObject* arguments, PyObject* keywords, const char* function,
                   bool is_of_generator, Options* options);
void free_options(Options* options);

#endif
