#include "draw.h"

#include "error.h"
#include "values.h"

PyObject* draw_waiting(PyObject* object) {
  Source* const source = (Source*)object;
  ModuleState* const state = state_of(object);
  void* const handle = handle_enter(&source->base.handle, state);
  if (handle == NULL) return NULL;
  int64_t id = 0;
  leaf_error* error = NULL;
  leaf_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = source->next(handle, &id, &error);
  Py_END_ALLOW_THREADS;
  handle_leave(&source->base.handle);
  return status == LEAF_OK ? PyLong_FromLongLong(id) : raise_error(state, error);
}

PyObject* draw_if_there(PyObject* object, PyObject* unused) {
  (void)unused;
  Source* const source = (Source*)object;
  void* const handle = handle_enter(&source->base.handle, state_of(object));
  if (handle == NULL) return NULL;
  int64_t id = 0;
  const int is_there = source->try_next(handle, &id);
  handle_leave(&source->base.handle);
  return is_there ? PyLong_FromLongLong(id) : Py_NewRef(Py_None);
}

/* The library writes right into the array: it cannot be resized while its memory is in use. */
static PyObject* filled(Source* source, const ModuleState* state, PyObject* array, size_t count) {
  Py_buffer memory;
  if (PyObject_GetBuffer(array, &memory, PyBUF_WRITABLE) < 0) return NULL;
  void* const handle = handle_enter(&source->base.handle, state);
  if (handle == NULL) {
    PyBuffer_Release(&memory);
    return NULL;
  }
  leaf_error* error = NULL;
  leaf_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = source->fill(handle, memory.buf, count, &error);
  Py_END_ALLOW_THREADS;
  handle_leave(&source->base.handle);
  PyBuffer_Release(&memory);
  return status == LEAF_OK ? array : raise_error(state, error);
}

PyObject* draw_many(PyObject* object, PyObject* argument) {
  ModuleState* const state = state_of(object);
  int64_t count = 0;
  const int64_t most = PY_SSIZE_T_MAX / (int64_t)sizeof(int64_t);
  if (!get_integer(state, argument, "the number of IDs", 0, most, &count)) return NULL;
  PyObject* const array = PySequence_Repeat(state->no_ids, (Py_ssize_t)count);
  if (array == NULL) return NULL;
  if (filled((Source*)object, state, array, (size_t)count) == NULL) {
    Py_DECREF(array);
    return NULL;
  }
  return array;
}
