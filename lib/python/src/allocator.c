#include "allocator.h"

#include "error.h"
#include "options.h"
#include "values.h"

static void end_allocator(Handle* handle) {
  /* Waits for fetches under way. */
  Py_BEGIN_ALLOW_THREADS;
  leaf_allocator_close(handle->made);
  Py_END_ALLOW_THREADS;
}

/* With the GIL, for the environment is read, which os.environ changes with it. No store is waited for. */
PyObject* open_allocator(PyObject* module, PyObject* arguments, PyObject* keywords) {
  ModuleState* const state = PyModule_GetState(module);
  Options options;
  leaf_allocator* made = NULL;
  if (parse_options(state, arguments, keywords, "allocator", false, &options)) {
    leaf_error* error = NULL;
    made = leaf_allocator_open(&options.options, &error);
    if (made == NULL) raise_error(state, error);
  }
  free_options(&options);
  if (made == NULL) return NULL;

  Allocator* const self = new_object(state->allocator);
  if (self == NULL) {
    leaf_allocator_close(made);
    return NULL;
  }
  handle_init(&self->base.handle, made, "allocator", end_allocator);
  self->store = text_of(leaf_allocator_store(made));
  if (self->store != NULL) return (PyObject*)self;
  Py_DECREF(self);
  return NULL;
}

static void close_with_tags(Allocator* self) {
  Handle* const handle = &self->base.handle;
  if (handle->usable == NULL) return;
  handle->usable = NULL;
  ++handle->users;
  for (Tag* tag = self->tags; tag != NULL;) {
    Tag* const next = tag->next;
    handle_close(&tag->source.base.handle);
    tag = next;
  }
  handle_leave(handle);
}

static PyObject* allocator_close(PyObject* object, PyObject* unused) {
  (void)unused;
  close_with_tags((Allocator*)object);
  Py_RETURN_NONE;
}

static void allocator_dealloc(PyObject* object) {
  Allocator* const self = (Allocator*)object;
  close_with_tags(self);
  Py_CLEAR(self->store);
  free_object(object);
}

static PyObject* allocator_repr(PyObject* object) {
  const Allocator* const self = (Allocator*)object;
  return PyUnicode_FromFormat("<leaf.Allocator of %R%s>", self->store,
                              self->base.handle.usable == NULL ? ", closed" : "");
}

static PyObject* allocator_store(PyObject* object, void* unused) {
  (void)unused;
  return Py_NewRef(((Allocator*)object)->store);
}

static PyMethodDef methods[] = {
    {"tag", open_tag, METH_O,
     PyDoc_STR("tag($self, name, /)\n--\n\n"
               "The tag of that name, to draw IDs from. Keep it: to draw an ID is quicker.\n\n"
               "Whether the store has the tag is found out when an ID is drawn.")},
    {"close", allocator_close, METH_NOARGS,
     PyDoc_STR("close($self, /)\n--\n\n"
               "Close it and its tags. Calls under way in other threads end as ever.")},
    CONTEXT_METHODS,
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"store", allocator_store, NULL, PyDoc_STR("The URL of the store, without a password."), NULL},
    {"closed", is_closed, NULL, PyDoc_STR(CLOSED_DOC), NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void*)PyDoc_STR("Where tags are drawn from. Made by leaf.allocator(); closed by close(), at the\n"
                      "end of a with statement, or with its last reference.")},
    {Py_tp_dealloc, allocator_dealloc},
    {Py_tp_repr, allocator_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL}};

static PyType_Spec spec = {
    .name = "leaf.Allocator",
    .basicsize = sizeof(Allocator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots};

PyTypeObject* make_allocator_type(PyObject* module) {
  return (PyTypeObject*)PyType_FromModuleAndSpec(module, &spec, NULL);
}
