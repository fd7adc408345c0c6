#include "allocator.h"
#include "error.h"
#include "values.h"

static void end_tag(Handle* handle) {
  leaf_tag_close(handle->made); /* waits for nothing */
  Tag* const tag = (Tag*)((char*)handle - offsetof(HandleObject, handle));
  Allocator* const allocator = tag->allocator;
  *(tag->previous == NULL ? &allocator->tags : &tag->previous->next) = tag->next;
  if (tag->next != NULL) tag->next->previous = tag->previous;
  handle_leave(&allocator->base.handle);
}

static int try_next(void* handle, int64_t* id) {
  return leaf_tag_try_next(handle, id);
}

static leaf_status next(void* handle, int64_t* id, leaf_error** error) {
  return leaf_tag_next(handle, id, error);
}

static leaf_status fill(void* handle, int64_t* ids, size_t count, leaf_error** error) {
  return leaf_tag_fill(handle, ids, count, error);
}

/* Takes over the handle, and the place among the users of the allocator that it was made in. */
static PyObject* tag_of(Allocator* allocator, leaf_tag* made, PyObject* name) {
  Tag* const self = new_object(state_of((PyObject*)allocator)->tag);
  if (self == NULL) {
    leaf_tag_close(made);
    handle_leave(&allocator->base.handle);
    return NULL;
  }
  handle_init(&self->source.base.handle, made, "tag", end_tag);
  self->source.try_next = try_next;
  self->source.next = next;
  self->source.fill = fill;
  self->name = Py_NewRef(name);
  self->allocator = (Allocator*)Py_NewRef((PyObject*)allocator);
  self->next = allocator->tags;
  if (self->next != NULL) self->next->previous = self;
  allocator->tags = self;
  return (PyObject*)self;
}

PyObject* open_tag(PyObject* object, PyObject* name) {
  Allocator* const allocator = (Allocator*)object;
  ModuleState* const state = state_of(object);
  PyObject* holder = NULL;
  const char* const text = get_text(state, name, "the name of a tag", &holder);
  if (text == NULL) return NULL;
  void* const handle = handle_enter(&allocator->base.handle, state);
  leaf_tag* made = NULL;
  if (handle != NULL) {
    leaf_error* error = NULL;
    Py_BEGIN_ALLOW_THREADS; /* may ask the store which one it is */
    made = leaf_allocator_tag(handle, text, &error);
    Py_END_ALLOW_THREADS;
    if (made == NULL) {
      handle_leave(&allocator->base.handle);
      raise_error(state, error);
    }
  }
  Py_DECREF(holder);
  if (made == NULL) return NULL;

  PyObject* const tag = tag_of(allocator, made, name);
  if (tag != NULL && allocator->base.handle.usable == NULL) { /* another thread has closed it meanwhile */
    Py_DECREF(tag);
    return raise_usage(state, "the allocator is closed");
  }
  return tag;
}

static PyObject* tag_next(PyObject* object) {
  void* const handle = ((HandleObject*)object)->handle.usable;
  int64_t id;
  if (handle != NULL && leaf_tag_try_next(handle, &id)) return PyLong_FromLongLong(id);
  return draw_waiting(object);
}

static PyObject* tag_range(PyObject* object, PyObject* argument) {
  ModuleState* const state = state_of(object);
  Handle* const shared = &((HandleObject*)object)->handle;
  int64_t at_most = 0;
  if (!get_integer(state, argument, "the number of IDs", 1, INT64_MAX, &at_most)) return NULL;
  void* const handle = handle_enter(shared, state);
  if (handle == NULL) return NULL;
  leaf_range range = {0, 0};
  leaf_error* error = NULL;
  leaf_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = leaf_tag_next_range(handle, (uint64_t)at_most, &range, &error);
  Py_END_ALLOW_THREADS;
  handle_leave(shared);
  if (status != LEAF_OK) return raise_error(state, error);
  return PyObject_CallFunction((PyObject*)&PyRange_Type, "LL", (long long)range.lo, (long long)range.hi);
}

static void tag_dealloc(PyObject* object) {
  Tag* const self = (Tag*)object;
  handle_close(&self->source.base.handle);
  Py_CLEAR(self->name);
  Py_CLEAR(self->allocator);
  free_object(object);
}

static PyObject* tag_repr(PyObject* object) {
  const Tag* const self = (Tag*)object;
  return PyUnicode_FromFormat("<leaf.Tag %R%s>", self->name,
                              self->source.base.handle.usable == NULL ? ", closed" : "");
}

static PyObject* tag_name(PyObject* object, void* unused) {
  (void)unused;
  return Py_NewRef(((Tag*)object)->name);
}

static PyMethodDef methods[] = {
    {"take", draw_many, METH_O,
     PyDoc_STR("take($self, count, /)\n--\n\n"
               "An array.array('q') of that many IDs in increasing order, which need not be consecutive.\n\n"
               "If it fails, what was drawn until then is lost.")},
    {"range", tag_range, METH_O,
     PyDoc_STR("range($self, at_most, /)\n--\n\n"
               "A range of consecutive IDs, 1 to at_most of them.")},
    {"try_next", draw_if_there, METH_NOARGS,
     PyDoc_STR(
         "try_next($self, /)\n--\n\n"
         "The next ID if it is there to be taken, else None: next() is to be called then, which may wait.\n"
         "Never waits itself.")},
    {"close", close_object, METH_NOARGS,
     PyDoc_STR("close($self, /)\n--\n\n"
               "Close it. Calls under way in other threads end as ever.")},
    CONTEXT_METHODS,
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {{"name", tag_name, NULL, PyDoc_STR("As it was asked for."), NULL},
                                   {"closed", is_closed, NULL, PyDoc_STR(CLOSED_DOC), NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void*)PyDoc_STR("An iterator of IDs without an end: each next() draws one, greater than any that\n"
                      "was returned before the call, in all processes that share the buffer. Any number\n"
                      "of threads may use it. Made by Allocator.tag().")},
    {Py_tp_dealloc, tag_dealloc},
    {Py_tp_repr, tag_repr},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, tag_next},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL}};

static PyType_Spec spec = {
    .name = "leaf.Tag",
    .basicsize = sizeof(Tag),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots};

PyTypeObject* make_tag_type(PyObject* module) {
  return (PyTypeObject*)PyType_FromModuleAndSpec(module, &spec, NULL);
}
