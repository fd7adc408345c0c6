#include "options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "values.h"

enum {
  STORE,
  RUNTIME_DIR,
  CONFIG_FILE,
  PROGRAM,
  TIMEOUT,
  HOST_BUFFER,
  GROUP,
  USE_HOST_DEFAULTS,
  WORKER_NAME,
  LAYOUT,
  NAMES
};

static const char* const names[NAMES + 1] = {"store",       "runtime_dir", "config_file", "program",
                                             "timeout",     "host_buffer", "group",       "use_host_defaults",
                                             "worker_name", "layout",      NULL};

static bool get_choice(PyObject* value, const char* name, int* choice) {
  if (value == NULL || value == Py_None) return true;
  if (!PyBool_Check(value)) {
    PyErr_Format(PyExc_TypeError, "%s has to be a bool or None", name);
    return false;
  }
  *choice = value == Py_True ? LEAF_YES : LEAF_NO;
  return true;
}

/* In seconds. One attempt for 0, which stands for the default in leaf_options. */
static bool get_timeout(const ModuleState* state, PyObject* value, int64_t* timeout_ms) {
  if (value == NULL || value == Py_None) return true;
  const double seconds = PyFloat_AsDouble(value);
  if (seconds == -1.0 && PyErr_Occurred()) return false;
  if (!(seconds >= 0)) {
    raise_usage(state, "timeout has to be 0 or more seconds");
    return false;
  }
  const double day = 24 * 60 * 60; /* the longest there is */
  *timeout_ms = seconds == 0 ? -1 : (int64_t)ceil(fmin(seconds, day) * 1000);
  return true;
}

/* The text of a str, or of an object whose str() is meant: a Layout. */
static bool get_layout(const ModuleState* state, PyObject* value, PyObject** holder, const char** text) {
  if (!Py_IS_TYPE(value, state->layout))
    return (*text = get_text(state, value, names[LAYOUT], holder)) != NULL;
  PyObject* const written = PyObject_Str(value);
  if (written == NULL) return false;
  *text = get_text(state, written, names[LAYOUT], holder);
  Py_DECREF(written);
  return *text != NULL;
}

bool parse_options(const ModuleState* state, PyObject* arguments, PyObject* keywords, const char* function,
                   bool is_of_generator, Options* result) {
  memset(result, 0, sizeof *result);
  leaf_options* const options = &result->options;
  options->size = sizeof *options;

  const int last = is_of_generator ? NAMES : WORKER_NAME;
  char* known[NAMES + 1] = {0};
  for (int i = 0; i < last; ++i) known[i] = (char*)names[i];
  char format[40];
  snprintf(format, sizeof format, is_of_generator ? "|O$OOOOOOOOO:%s" : "|O$OOOOOOO:%s", function);
  PyObject* values[NAMES] = {0};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, format, known, &values[0], &values[1], &values[2],
                                   &values[3], &values[4], &values[5], &values[6], &values[7], &values[8],
                                   &values[9]))
    return false;

  const struct {
    int value;
    const char** place;
    bool is_path;
  } texts[] = {{STORE, &options->store, false},
               {RUNTIME_DIR, &options->runtime_dir, true},
               {CONFIG_FILE, &options->config_file, true},
               {PROGRAM, &options->program, false},
               {WORKER_NAME, &options->worker_name, false}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    PyObject* const value = values[texts[i].value];
    if (value == NULL || value == Py_None) continue;
    *texts[i].place = texts[i].is_path ? get_path(value, &result->holders[i])
                                       : get_text(state, value, names[texts[i].value], &result->holders[i]);
    if (*texts[i].place == NULL) return false;
  }
  PyObject* const layout = values[LAYOUT];
  if (layout != NULL && layout != Py_None &&
      !get_layout(state, layout, &result->holders[5], &options->layout))
    return false;
  return get_timeout(state, values[TIMEOUT], &options->timeout_ms) &&
         get_choice(values[HOST_BUFFER], names[HOST_BUFFER], &options->host_buffer) &&
         get_choice(values[GROUP], names[GROUP], &options->group) &&
         get_choice(values[USE_HOST_DEFAULTS], names[USE_HOST_DEFAULTS], &options->use_host_defaults);
}

void free_options(Options* options) {
  for (size_t i = 0; i < sizeof options->holders / sizeof options->holders[0]; ++i)
    Py_CLEAR(options->holders[i]);
}
