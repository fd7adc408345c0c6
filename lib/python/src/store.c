#include "error.h"
#include "handle.h"
#include "options.h"
#include "values.h"

static void end_store(Handle* handle) {
  Py_BEGIN_ALLOW_THREADS;
  leaf_store_close(handle->made);
  Py_END_ALLOW_THREADS;
}

/* With the GIL, as open_allocator(). */
PyObject* open_store(PyObject* module, PyObject* arguments, PyObject* keywords) {
  ModuleState* const state = PyModule_GetState(module);
  Options options;
  leaf_store* made = NULL;
  if (parse_options(state, arguments, keywords, "store", false, &options)) {
    leaf_error* error = NULL;
    made = leaf_store_open(&options.options, &error);
    if (made == NULL) raise_error(state, error);
  }
  free_options(&options);
  if (made == NULL) return NULL;

  HandleObject* const self = new_object(state->store);
  if (self == NULL) {
    leaf_store_close(made);
    return NULL;
  }
  handle_init(&self->handle, made, "store", end_store);
  return (PyObject*)self;
}

/* 0 stands for the default in leaf_new_tag, so it is none of the values. */
static bool get_positive(const ModuleState* state, PyObject* value, const char* name, int64_t greatest,
                         int64_t* number) {
  return value == NULL || value == Py_None || get_integer(state, value, name, 1, greatest, number);
}

static bool get_new_tag(const ModuleState* state, PyObject* arguments, PyObject* keywords, leaf_new_tag* tag,
                        PyObject* holders[2]) {
  static char* known[] = {"", "step", "start", "limit", "description", NULL};
  PyObject* name = NULL;
  PyObject* step = NULL;
  PyObject* start = NULL;
  PyObject* limit = NULL;
  PyObject* description = NULL;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$OOOO:add", known, &name, &step, &start, &limit,
                                   &description) ||
      (tag->name = get_text(state, name, "the name of a tag", &holders[0])) == NULL)
    return false;
  if (description != NULL && description != Py_None &&
      (tag->description = get_text(state, description, "description", &holders[1])) == NULL)
    return false;
  return get_positive(state, step, "step", LEAF_MAX_STEP, &tag->step) &&
         get_positive(state, start, "start", LEAF_MAX_ID + 1, &tag->start) &&
         get_positive(state, limit, "limit", LEAF_MAX_ID, &tag->limit);
}

static PyObject* store_add(PyObject* object, PyObject* arguments, PyObject* keywords) {
  ModuleState* const state = state_of(object);
  Handle* const shared = &((HandleObject*)object)->handle;
  leaf_new_tag tag = {.size = sizeof tag};
  PyObject* holders[2] = {NULL, NULL};
  PyObject* result = NULL;
  void* handle = NULL;
  if (get_new_tag(state, arguments, keywords, &tag, holders) &&
      (handle = handle_enter(shared, state)) != NULL) {
    leaf_error* error = NULL;
    leaf_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = leaf_store_add_tag(handle, &tag, &error);
    Py_END_ALLOW_THREADS;
    handle_leave(shared);
    result = status == LEAF_OK ? Py_NewRef(Py_None) : raise_error(state, error);
  }
  Py_XDECREF(holders[0]);
  Py_XDECREF(holders[1]);
  return result;
}

static PyObject* record_of(const ModuleState* state, const leaf_tag_info* tag) {
  PyObject* const updated = time_of(state, tag->updated_ms);
  PyObject* const granted =
      tag->granted_ms == INT64_MIN ? Py_NewRef(Py_None) : time_of(state, tag->granted_ms);
  PyObject* const name = text_of(tag->name);
  PyObject* const description = text_of(tag->description);
  PyObject* result = NULL;
  if (updated != NULL && granted != NULL && name != NULL && description != NULL) {
    result = PyObject_CallFunction(state->tag_info, "OOLLLLOO", name, description, (long long)tag->next_id,
                                   (long long)tag->step, (long long)tag->start, (long long)tag->limit,
                                   updated, granted);
  }
  Py_XDECREF(updated);
  Py_XDECREF(granted);
  Py_XDECREF(name);
  Py_XDECREF(description);
  return result;
}

static PyObject* store_tag(PyObject* object, PyObject* name) {
  ModuleState* const state = state_of(object);
  Handle* const shared = &((HandleObject*)object)->handle;
  PyObject* holder = NULL;
  const char* const text = get_text(state, name, "the name of a tag", &holder);
  if (text == NULL) return NULL;
  PyObject* result = NULL;
  void* const handle = handle_enter(shared, state);
  if (handle != NULL) {
    leaf_tag_list* list = NULL;
    leaf_error* error = NULL;
    Py_BEGIN_ALLOW_THREADS;
    list = leaf_store_tag(handle, text, &error);
    Py_END_ALLOW_THREADS;
    handle_leave(shared);
    result = list != NULL ? record_of(state, leaf_tag_list_at(list, 0)) : raise_error(state, error);
    leaf_tag_list_free(list);
  }
  Py_DECREF(holder);
  return result;
}

static PyObject* records_of(const ModuleState* state, const leaf_tag_list* list) {
  PyObject* const result = PyList_New(0);
  for (size_t i = 0; result != NULL && i < leaf_tag_list_size(list); ++i) {
    PyObject* const record = record_of(state, leaf_tag_list_at(list, i));
    if (record == NULL || PyList_Append(result, record) < 0) {
      Py_XDECREF(record);
      Py_DECREF(result);
      return NULL;
    }
    Py_DECREF(record);
  }
  return result;
}

static PyObject* store_tags(PyObject* object, PyObject* unused) {
  (void)unused;
  ModuleState* const state = state_of(object);
  Handle* const shared = &((HandleObject*)object)->handle;
  void* const handle = handle_enter(shared, state);
  if (handle == NULL) return NULL;
  leaf_tag_list* list = NULL;
  leaf_error* error = NULL;
  Py_BEGIN_ALLOW_THREADS;
  list = leaf_store_tags(handle, &error);
  Py_END_ALLOW_THREADS;
  handle_leave(shared);
  PyObject* const result = list != NULL ? records_of(state, list) : raise_error(state, error);
  leaf_tag_list_free(list);
  return result;
}

static void store_dealloc(PyObject* object) {
  handle_close(&((HandleObject*)object)->handle);
  free_object(object);
}

static PyObject* store_repr(PyObject* object) {
  const bool is_open = ((HandleObject*)object)->handle.usable != NULL;
  return PyUnicode_FromString(is_open ? "<leaf.Store>" : "<leaf.Store, closed>");
}

static PyMethodDef methods[] = {
    {"add", (PyCFunction)(void (*)(void))store_add, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR(
         "add($self, name, /, *, step=None, start=None, limit=None, description=None)\n--\n\n"
         "Add a tag, whose first ID is start (1) and whose last one is limit, if any. Hosts get step (1000)\n"
         "IDs at a time. One that exists with the same values is no error.")},
    {"tag", store_tag, METH_O,
     PyDoc_STR("tag($self, name, /)\n--\n\n"
               "The tag of that name as the store has it, a leaf.TagInfo.")},
    {"tags", store_tags, METH_NOARGS,
     PyDoc_STR("tags($self, /)\n--\n\n"
               "All tags by name, a list of leaf.TagInfo.")},
    {"close", close_object, METH_NOARGS,
     PyDoc_STR("close($self, /)\n--\n\n"
               "Close it. Calls under way in other threads end as ever.")},
    CONTEXT_METHODS,
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {{"closed", is_closed, NULL, PyDoc_STR(CLOSED_DOC), NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void*)PyDoc_STR("One store, to look after its tags. Made by leaf.store(); closed by close(), at the\n"
                      "end of a with statement, or with its last reference.")},
    {Py_tp_dealloc, store_dealloc},
    {Py_tp_repr, store_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL}};

static PyType_Spec spec = {
    .name = "leaf.Store",
    .basicsize = sizeof(HandleObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots};

PyTypeObject* make_store_type(PyObject* module) {
  return (PyTypeObject*)PyType_FromModuleAndSpec(module, &spec, NULL);
}
