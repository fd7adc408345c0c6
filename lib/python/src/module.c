#include "module.h"

#include <stdio.h>

#ifndef LEAF_BUILT_FOR
#error "LEAF_BUILT_FOR has to be the version of libleaf"
#endif

ModuleState* state_of(PyObject* object) {
  return PyType_GetModuleState(Py_TYPE(object));
}

void* new_object(PyTypeObject* type) {
  return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

void free_object(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

/* True if the library that was loaded is not older than the one that this was built for. */
static int is_library_new_enough(void) {
  int wanted[3] = {0, 0, 0};
  int found[3] = {0, 0, 0};
  sscanf(LEAF_BUILT_FOR, "%d.%d.%d", &wanted[0], &wanted[1], &wanted[2]);
  sscanf(leaf_version(), "%d.%d.%d", &found[0], &found[1], &found[2]);
  for (int i = 0; i < 3; ++i)
    if (found[i] != wanted[i]) return found[i] > wanted[i];
  return 1;
}

static PyObject* imported(const char* module, const char* name) {
  PyObject* const from = PyImport_ImportModule(module);
  PyObject* const result = from == NULL ? NULL : PyObject_GetAttrString(from, name);
  Py_XDECREF(from);
  return result;
}

static int import_parts(ModuleState* state) {
  static const char* const errors[] = {NULL,       "Error",   "UsageError", "Unavailable",
                                       "NotFound", "Refused", "Exhausted"};
  for (int status = LEAF_FAILED; status <= LEAF_EXHAUSTED; ++status)
    if ((state->errors[status] = imported("leaf._errors", errors[status])) == NULL) return -1;
  PyObject* const array = imported("array", "array");
  if (array == NULL) return -1;
  state->no_ids = PyObject_CallFunction(array, "s[i]", "q", 0);
  Py_DECREF(array);
  return state->no_ids != NULL && (state->decoded = imported("leaf._records", "Decoded")) != NULL &&
                 (state->bounds = imported("leaf._records", "Bounds")) != NULL &&
                 (state->tag_info = imported("leaf._records", "TagInfo")) != NULL &&
                 (state->time_of = imported("leaf._records", "time_of")) != NULL &&
                 (state->unix_ms_of = imported("leaf._records", "unix_ms_of")) != NULL
             ? 0
             : -1;
}

static int add_types(PyObject* module, ModuleState* state) {
  const struct {
    PyTypeObject** place;
    PyTypeObject* (*make)(PyObject* module);
  } types[] = {{&state->allocator, make_allocator_type},
               {&state->tag, make_tag_type},
               {&state->snowflake, make_snowflake_type},
               {&state->store, make_store_type},
               {&state->layout, make_layout_type}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    *types[i].place = types[i].make(module);
    if (*types[i].place == NULL || PyModule_AddType(module, *types[i].place) < 0) return -1;
  }
  return 0;
}

static int execute(PyObject* module) {
  ModuleState* const state = PyModule_GetState(module);
  if (!is_library_new_enough()) {
    PyErr_Format(PyExc_ImportError,
                 "libleaf %s is loaded, and this module needs %s or later: upgrade libleaf", leaf_version(),
                 LEAF_BUILT_FOR);
    return -1;
  }
  if (import_parts(state) < 0 || add_types(module, state) < 0) return -1;
  return PyModule_AddStringConstant(module, "libleaf_version", leaf_version());
}

static int traverse(PyObject* module, visitproc visit, void* arg) {
  ModuleState* const state = PyModule_GetState(module);
  Py_VISIT(state->allocator);
  Py_VISIT(state->tag);
  Py_VISIT(state->snowflake);
  Py_VISIT(state->store);
  Py_VISIT(state->layout);
  for (int status = LEAF_FAILED; status <= LEAF_EXHAUSTED; ++status) Py_VISIT(state->errors[status]);
  Py_VISIT(state->no_ids);
  Py_VISIT(state->decoded);
  Py_VISIT(state->bounds);
  Py_VISIT(state->tag_info);
  Py_VISIT(state->time_of);
  Py_VISIT(state->unix_ms_of);
  return 0;
}

static int clear(PyObject* module) {
  ModuleState* const state = PyModule_GetState(module);
  Py_CLEAR(state->allocator);
  Py_CLEAR(state->tag);
  Py_CLEAR(state->snowflake);
  Py_CLEAR(state->store);
  Py_CLEAR(state->layout);
  for (int status = LEAF_FAILED; status <= LEAF_EXHAUSTED; ++status) Py_CLEAR(state->errors[status]);
  Py_CLEAR(state->no_ids);
  Py_CLEAR(state->decoded);
  Py_CLEAR(state->bounds);
  Py_CLEAR(state->tag_info);
  Py_CLEAR(state->time_of);
  Py_CLEAR(state->unix_ms_of);
  return 0;
}

static void destroy(void* module) {
  clear(module);
}

#define OPTIONS                                                                                       \
  "store=None, *, runtime_dir=None, config_file=None, program=None, timeout=None, host_buffer=None, " \
  "group=None, use_host_defaults=None"

#define OPTIONS_DOC                                                                                         \
  "What is not said is what all programs of the host go by: the environment and the configuration files.\n" \
  "use_host_defaults=False reads neither; store has to be said then, and buffers are the process's own\n"   \
  "unless runtime_dir is said too. timeout is in seconds."

static PyMethodDef functions[] = {
    {"allocator", (PyCFunction)(void (*)(void))open_allocator, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("allocator(" OPTIONS ")\n--\n\n"
               "An Allocator, for IDs of tags. Connects to nothing yet.\n\n" OPTIONS_DOC)},
    {"snowflake", (PyCFunction)(void (*)(void))open_snowflake, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR(
         "snowflake(" OPTIONS ", worker_name=None, layout=None)\n--\n\n"
         "A Snowflake, which leases a worker, or takes the one that this host has buffered.\n\n" OPTIONS_DOC
         "\nworker_name stays the same over restarts; layout is the one that the store has to have.")},
    {"store", (PyCFunction)(void (*)(void))open_store, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("store(" OPTIONS ")\n--\n\n"
               "A Store, to look after tags. Connects to nothing yet.\n\n" OPTIONS_DOC)},
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,  .m_name = "leaf._leaf", .m_size = sizeof(ModuleState),
    .m_methods = functions, .m_slots = slots,       .m_traverse = traverse,
    .m_clear = clear,       .m_free = destroy};

PyMODINIT_FUNC PyInit__leaf(void) {
  return PyModuleDef_Init(&definition);
}
