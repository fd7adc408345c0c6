#include "draw.h"
#include "error.h"
#include "options.h"
#include "values.h"

static void end_generator(Handle* handle) {
  /* Gives back to the store what nobody uses. */
  Py_BEGIN_ALLOW_THREADS;
  leaf_generator_close(handle->made);
  Py_END_ALLOW_THREADS;
}

static int try_next(void* handle, int64_t* id) {
  return leaf_generator_try_next(handle, id);
}

static leaf_status next(void* handle, int64_t* id, leaf_error** error) {
  return leaf_generator_next(handle, id, error);
}

static leaf_status fill(void* handle, int64_t* ids, size_t count, leaf_error** error) {
  return leaf_generator_fill(handle, ids, count, error);
}

/* Or closes the generator. */
static bool lease(leaf_generator* generator, leaf_error** error) {
  int64_t worker;
  leaf_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = leaf_generator_worker(generator, &worker, error);
  if (status != LEAF_OK) leaf_generator_close(generator);
  Py_END_ALLOW_THREADS;
  return status == LEAF_OK;
}

PyObject* open_snowflake(PyObject* module, PyObject* arguments, PyObject* keywords) {
  ModuleState* const state = PyModule_GetState(module);
  Options options;
  leaf_generator* made = NULL;
  if (parse_options(state, arguments, keywords, "snowflake", true, &options)) {
    leaf_error* error = NULL;
    /* With the GIL, for the environment is read, which os.environ changes with it. */
    made = leaf_generator_prepare(&options.options, &error);
    if (made != NULL && !lease(made, &error)) made = NULL;
    if (made == NULL) raise_error(state, error);
  }
  free_options(&options);
  if (made == NULL) return NULL;

  Source* const self = new_object(state->snowflake);
  if (self == NULL) {
    leaf_generator_close(made);
    return NULL;
  }
  handle_init(&self->base.handle, made, "generator", end_generator);
  self->try_next = try_next;
  self->next = next;
  self->fill = fill;
  return (PyObject*)self;
}

static PyObject* snowflake_next(PyObject* object) {
  void* const handle = ((HandleObject*)object)->handle.usable;
  int64_t id;
  if (handle != NULL && leaf_generator_try_next(handle, &id)) return PyLong_FromLongLong(id);
  return draw_waiting(object);
}

/* Either may have to lease a worker first, in a child of fork(). */
static PyObject* snowflake_worker(PyObject* object, void* unused) {
  (void)unused;
  ModuleState* const state = state_of(object);
  Handle* const shared = &((HandleObject*)object)->handle;
  void* const handle = handle_enter(shared, state);
  if (handle == NULL) return NULL;
  int64_t worker = 0;
  leaf_error* error = NULL;
  leaf_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = leaf_generator_worker(handle, &worker, &error);
  Py_END_ALLOW_THREADS;
  handle_leave(shared);
  return status == LEAF_OK ? PyLong_FromLongLong(worker) : raise_error(state, error);
}

static PyObject* snowflake_layout(PyObject* object, void* unused) {
  (void)unused;
  ModuleState* const state = state_of(object);
  Handle* const shared = &((HandleObject*)object)->handle;
  void* const handle = handle_enter(shared, state);
  if (handle == NULL) return NULL;
  leaf_layout* layout = NULL;
  leaf_error* error = NULL;
  Py_BEGIN_ALLOW_THREADS;
  layout = leaf_generator_layout(handle, &error);
  Py_END_ALLOW_THREADS;
  handle_leave(shared);
  return layout != NULL ? layout_of(state, layout) : raise_error(state, error);
}

static void snowflake_dealloc(PyObject* object) {
  handle_close(&((HandleObject*)object)->handle);
  free_object(object);
}

static PyObject* snowflake_repr(PyObject* object) {
  const bool is_open = ((HandleObject*)object)->handle.usable != NULL;
  return PyUnicode_FromString(is_open ? "<leaf.Snowflake>" : "<leaf.Snowflake, closed>");
}

static PyMethodDef methods[] = {
    {"take", draw_many, METH_O,
     PyDoc_STR("take($self, count, /)\n--\n\n"
               "An array.array('q') of that many IDs in increasing order.\n\n"
               "If it fails, what was made until then is lost.")},
    {"try_next", draw_if_there, METH_NOARGS,
     PyDoc_STR(
         "try_next($self, /)\n--\n\n"
         "The next ID if it is there to be taken, else None: next() is to be called then, which may wait.\n"
         "Never waits itself. Only a thread that draws one ID after the other gets any.")},
    {"close", close_object, METH_NOARGS,
     PyDoc_STR(
         "close($self, /)\n--\n\n"
         "Close it, and give back what no other process of the host uses, if the store can be reached.\n"
         "Calls under way in other threads end as ever.")},
    CONTEXT_METHODS,
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"worker", snowflake_worker, NULL, PyDoc_STR("The worker in use."), NULL},
    {"layout", snowflake_layout, NULL, PyDoc_STR("The layout of the store, to take IDs apart with."), NULL},
    {"closed", is_closed, NULL, PyDoc_STR(CLOSED_DOC), NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void*)PyDoc_STR("An iterator of time-ordered IDs without an end, by a worker that it leases from\n"
                      "the store. Any number of threads may use it. Made by leaf.snowflake(); closed by\n"
                      "close(), at the end of a with statement, or with its last reference.")},
    {Py_tp_dealloc, snowflake_dealloc},
    {Py_tp_repr, snowflake_repr},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, snowflake_next},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL}};

static PyType_Spec spec = {
    .name = "leaf.Snowflake",
    .basicsize = sizeof(Source),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots};

PyTypeObject* make_snowflake_type(PyObject* module) {
  return (PyTypeObject*)PyType_FromModuleAndSpec(module, &spec, NULL);
}
