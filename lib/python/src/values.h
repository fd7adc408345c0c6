/* Values of Python as the library takes them. */
#ifndef LEAF_PYTHON_VALUES_H
#define LEAF_PYTHON_VALUES_H

#include <stdbool.h>

#include "module.h"

/* All return false, or NULL, with an exception set where the value is not as they want it. */

bool get_integer(const ModuleState* state, PyObject* value, const char* name, int64_t least, int64_t greatest,
                 int64_t* number);

/* An aware datetime, or Unix milliseconds. What lies between two of them goes up or down. */
bool get_time(const ModuleState* state, PyObject* value, bool is_up, int64_t* unix_ms);

/* The UTF-8 of a str, which lives as long as `holder`: a new reference. */
const char* get_text(const ModuleState* state, PyObject* value, const char* name, PyObject** holder);

/* The same of a path: what os.fspath() takes. */
const char* get_path(PyObject* value, PyObject** holder);

PyObject* text_of(const char* utf8);
PyObject* time_of(const ModuleState* state, int64_t unix_ms);

#endif
