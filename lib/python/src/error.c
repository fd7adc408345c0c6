#include "error.h"

#include <stdarg.h>
#include <string.h>

PyObject* raise_error(const ModuleState* state, leaf_error* error) {
  const char* const text = leaf_error_text(error);
  const char* const hint = leaf_error_hint(error);
  int status = (int)leaf_error_status(error);
  if (status < LEAF_FAILED || status > LEAF_EXHAUSTED) status = LEAF_FAILED; /* of a later library */
  PyObject* const type = state->errors[status];
  PyObject* const text_object = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
  PyObject* const hint_object = PyUnicode_DecodeUTF8(hint, (Py_ssize_t)strlen(hint), "backslashreplace");
  PyObject* const is_retryable = PyBool_FromLong(leaf_error_is_retryable(error));
  leaf_error_free(error);
  if (text_object != NULL && hint_object != NULL) {
    PyObject* const exception =
        PyObject_CallFunctionObjArgs(type, text_object, hint_object, is_retryable, NULL);
    if (exception != NULL) {
      PyErr_SetObject(type, exception);
      Py_DECREF(exception);
    }
  }
  Py_XDECREF(text_object);
  Py_XDECREF(hint_object);
  Py_DECREF(is_retryable);
  return NULL;
}

PyObject* raise_usage(const ModuleState* state, const char* format, ...) {
  va_list values;
  va_start(values, format);
  PyObject* const text = PyUnicode_FromFormatV(format, values);
  va_end(values);
  if (text == NULL) return NULL;
  PyErr_SetObject(state->errors[LEAF_USAGE], text);
  Py_DECREF(text);
  return NULL;
}
