#include <string.h>

#include "error.h"
#include "values.h"

typedef struct LayoutObject {
  PyObject ob_base;
  leaf_layout* handle; /* never changes */
} LayoutObject;

static const leaf_layout* handle_of(PyObject* object) {
  return ((LayoutObject*)object)->handle;
}

PyObject* layout_of(ModuleState* state, leaf_layout* handle) {
  LayoutObject* const self = new_object(state->layout);
  if (self == NULL) {
    leaf_layout_free(handle);
    return NULL;
  }
  self->handle = handle;
  return (PyObject*)self;
}

static PyObject* layout_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  ModuleState* const state = PyType_GetModuleState(type);
  static char* known[] = {"", NULL};
  PyObject* value = NULL;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:Layout", known, &value)) return NULL;
  if (Py_IS_TYPE(value, type)) return Py_NewRef(value);
  PyObject* holder = NULL;
  const char* const text = get_text(state, value, "a layout", &holder);
  if (text == NULL) return NULL;
  leaf_error* error = NULL;
  leaf_layout* const handle = leaf_layout_parse(text, &error);
  Py_DECREF(holder);
  return handle != NULL ? layout_of(state, handle) : raise_error(state, error);
}

static void layout_dealloc(PyObject* object) {
  leaf_layout_free(((LayoutObject*)object)->handle);
  free_object(object);
}

static PyObject* layout_text(PyObject* object) {
  return text_of(leaf_layout_text(handle_of(object)));
}

static PyObject* layout_repr(PyObject* object) {
  return PyUnicode_FromFormat("leaf.Layout('%s')", leaf_layout_text(handle_of(object)));
}

static PyObject* layout_compare(PyObject* one, PyObject* other, int operation) {
  if (!Py_IS_TYPE(other, Py_TYPE(one)) || (operation != Py_EQ && operation != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  const bool are_equal = strcmp(leaf_layout_text(handle_of(one)), leaf_layout_text(handle_of(other))) == 0;
  return PyBool_FromLong(are_equal == (operation == Py_EQ));
}

static Py_hash_t layout_hash(PyObject* object) {
  PyObject* const text = layout_text(object);
  if (text == NULL) return -1;
  const Py_hash_t hash = PyObject_Hash(text);
  Py_DECREF(text);
  return hash;
}

static PyObject* layout_reduce(PyObject* object, PyObject* unused) {
  (void)unused;
  return Py_BuildValue("O(N)", Py_TYPE(object), layout_text(object));
}

static PyObject* decode(PyObject* object, PyObject* argument) {
  ModuleState* const state = state_of(object);
  int64_t id = 0;
  if (!get_integer(state, argument, "an ID", INT64_MIN, INT64_MAX, &id)) return NULL;
  leaf_decoded decoded;
  leaf_error* error = NULL;
  if (leaf_decode(handle_of(object), id, &decoded, &error) != LEAF_OK) return raise_error(state, error);
  PyObject* const time = time_of(state, decoded.unix_ms);
  if (time == NULL) return NULL;
  return PyObject_CallFunction(state->decoded, "NLL", time, (long long)decoded.worker,
                               (long long)decoded.sequence);
}

static PyObject* encode(PyObject* object, PyObject* arguments, PyObject* keywords) {
  ModuleState* const state = state_of(object);
  static char* known[] = {"time", "worker", "sequence", NULL};
  PyObject* time = NULL;
  PyObject* worker = NULL;
  PyObject* sequence = NULL;
  leaf_decoded decoded = {0, 0, 0};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|OO:encode", known, &time, &worker, &sequence) ||
      !get_time(state, time, false, &decoded.unix_ms) ||
      (worker != NULL && !get_integer(state, worker, "worker", 0, INT64_MAX, &decoded.worker)) ||
      (sequence != NULL && !get_integer(state, sequence, "sequence", 0, INT64_MAX, &decoded.sequence)))
    return NULL;
  int64_t id = 0;
  leaf_error* error = NULL;
  if (leaf_encode(handle_of(object), &decoded, &id, &error) != LEAF_OK) return raise_error(state, error);
  return PyLong_FromLongLong(id);
}

/* IDs hold whole milliseconds: what is not before a time between two is not before the second one either. */
static PyObject* bounds(PyObject* object, PyObject* arguments, PyObject* keywords) {
  ModuleState* const state = state_of(object);
  static char* known[] = {"start", "end", NULL};
  PyObject* start = NULL;
  PyObject* end = NULL;
  int64_t from_ms = 0;
  int64_t to_ms = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:bounds", known, &start, &end) ||
      !get_time(state, start, true, &from_ms) || !get_time(state, end, true, &to_ms))
    return NULL;
  int64_t first = 0;
  int64_t last = 0;
  leaf_error* error = NULL;
  if (leaf_bounds(handle_of(object), from_ms, to_ms, &first, &last, &error) != LEAF_OK)
    return raise_error(state, error);
  return PyObject_CallFunction(state->bounds, "LL", (long long)first, (long long)last);
}

static PyMethodDef methods[] = {
    {"decode", decode, METH_O,
     PyDoc_STR("decode($self, id, /)\n--\n\n"
               "What is in an ID, as a leaf.Decoded.")},
    {"encode", (PyCFunction)(void (*)(void))encode, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("encode($self, time, worker=0, sequence=0)\n--\n\n"
               "The ID that holds these. A time is an aware datetime, or Unix milliseconds.")},
    {"bounds", (PyCFunction)(void (*)(void))bounds, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("bounds($self, start, end)\n--\n\n"
               "The least and the greatest ID of the times from start to before end, as a leaf.Bounds.")},
    {"__reduce__", layout_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void*)PyDoc_STR(
         "Layout(text, /)\n--\n\n"
         "How the bits of a snowflake are divided: a known layout by name, such as leaf or twitter,\n"
         "or one by its bits, such as 41,10,12. Its str() is the form in which layouts are compared.")},
    {Py_tp_new, layout_new},
    {Py_tp_dealloc, layout_dealloc},
    {Py_tp_str, layout_text},
    {Py_tp_repr, layout_repr},
    {Py_tp_richcompare, layout_compare},
    {Py_tp_hash, layout_hash},
    {Py_tp_methods, methods},
    {0, NULL}};

static PyType_Spec spec = {.name = "leaf.Layout",
                           .basicsize = sizeof(LayoutObject),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

PyTypeObject* make_layout_type(PyObject* module) {
  return (PyTypeObject*)PyType_FromModuleAndSpec(module, &spec, NULL);
}
