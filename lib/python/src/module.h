/* What all parts of the module go by. */
#ifndef LEAF_PYTHON_MODULE_H
#define LEAF_PYTHON_MODULE_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000 /* the stable ABI as of 3.11 */
#endif
#define PY_SSIZE_T_CLEAN
#pragma GCC diagnostic ignored "-Wpedantic" /* slots of types hold functions as void pointers */
#include <Python.h>
#include <leaf/leaf.h>
#include <stddef.h>

/* One for each interpreter: nothing is shared between them. */
typedef struct ModuleState {
  PyTypeObject* allocator;
  PyTypeObject* tag;
  PyTypeObject* snowflake;
  PyTypeObject* store;
  PyTypeObject* layout;

  PyObject* errors[LEAF_EXHAUSTED + 1]; /* the class of each leaf_status */
  PyObject* no_ids;                     /* array.array('q', [0]), which all arrays are made of */
  PyObject* decoded;
  PyObject* bounds;
  PyObject* tag_info;
  PyObject* time_of;
  PyObject* unix_ms_of;
} ModuleState;

/* That of an object of the module's own types, which cannot be derived from. */
ModuleState* state_of(PyObject* object);

/* Each makes its type; NULL with an exception set. */
PyTypeObject* make_allocator_type(PyObject* module);
PyTypeObject* make_tag_type(PyObject* module);
PyTypeObject* make_snowflake_type(PyObject* module);
PyTypeObject* make_store_type(PyObject* module);
PyTypeObject* make_layout_type(PyObject* module);

/* The functions of the module. */
PyObject* open_allocator(PyObject* module, PyObject* arguments, PyObject* keywords);
PyObject* open_snowflake(PyObject* module, PyObject* arguments, PyObject* keywords);
PyObject* open_store(PyObject* module, PyObject* arguments, PyObject* keywords);

/* Takes over the handle. */
PyObject* layout_of(ModuleState* state, leaf_layout* handle);

/* A new object without anything in it; freed by free_object() at the end of its dealloc. */
void* new_object(PyTypeObject* type);
void free_object(PyObject* object);

#endif
