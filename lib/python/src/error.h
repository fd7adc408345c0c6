/* Errors of the library as exceptions. */
#ifndef LEAF_PYTHON_ERROR_H
#define LEAF_PYTHON_ERROR_H

#include "module.h"

/* Raises it as the class of its status, and frees it. Returns NULL. */
PyObject* raise_error(const ModuleState* state, leaf_error* error);

/* Raises leaf.UsageError, with a text as of PyUnicode_FromFormat(). Returns NULL. */
PyObject* raise_usage(const ModuleState* state, const char* format, ...);

#endif
