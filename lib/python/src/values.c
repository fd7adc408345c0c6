#include "values.h"

#include <string.h>

#include "error.h"

bool get_integer(const ModuleState* state, PyObject* value, const char* name, int64_t least, int64_t greatest,
                 int64_t* number) {
  PyObject* const integer = PyNumber_Index(value);
  if (integer == NULL) return false;
  int overflow = 0;
  const long long found = PyLong_AsLongLongAndOverflow(integer, &overflow);
  Py_DECREF(integer);
  if (found == -1 && PyErr_Occurred()) return false;
  if (overflow != 0 || found < least || found > greatest) {
    raise_usage(state, "%s has to be from %lld to %lld", name, (long long)least, (long long)greatest);
    return false;
  }
  *number = found;
  return true;
}

bool get_time(const ModuleState* state, PyObject* value, bool is_up, int64_t* unix_ms) {
  if (PyIndex_Check(value)) return get_integer(state, value, "a time", INT64_MIN, INT64_MAX, unix_ms);
  PyObject* const result =
      PyObject_CallFunctionObjArgs(state->unix_ms_of, value, is_up ? Py_True : Py_False, NULL);
  if (result == NULL) return false;
  *unix_ms = PyLong_AsLongLong(result);
  Py_DECREF(result);
  return *unix_ms != -1 || !PyErr_Occurred();
}

const char* get_text(const ModuleState* state, PyObject* value, const char* name, PyObject** holder) {
  if (!PyUnicode_Check(value)) {
    PyErr_Format(PyExc_TypeError, "%s has to be a str", name);
    return NULL;
  }
  /* As paths may hold bytes that are no UTF-8. */
  PyObject* const bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
  if (bytes == NULL) return NULL;
  const char* const text = PyBytes_AsString(bytes);
  if (text == NULL || strlen(text) != (size_t)PyBytes_Size(bytes)) {
    Py_DECREF(bytes);
    raise_usage(state, "%s has a null character", name);
    return NULL;
  }
  *holder = bytes;
  return text;
}

const char* get_path(PyObject* value, PyObject** holder) {
  return PyUnicode_FSConverter(value, holder) ? PyBytes_AsString(*holder) : NULL;
}

PyObject* text_of(const char* utf8) {
  return PyUnicode_DecodeUTF8(utf8, (Py_ssize_t)strlen(utf8), "surrogateescape");
}

PyObject* time_of(const ModuleState* state, int64_t unix_ms) {
  return PyObject_CallFunction(state->time_of, "L", (long long)unix_ms);
}
