#include "handle.h"

#include "error.h"

void handle_init(Handle* handle, void* made, const char* what, void (*end)(Handle* handle)) {
  handle->usable = made;
  handle->made = made;
  handle->users = 0;
  handle->what = what;
  handle->end = end;
}

void* handle_enter(Handle* handle, const ModuleState* state) {
  if (handle->usable == NULL) {
    raise_usage(state, "the %s is closed", handle->what);
    return NULL;
  }
  ++handle->users;
  return handle->usable;
}

static void end_if_over(Handle* handle) {
  if (handle->usable == NULL && handle->users == 0) handle->end(handle);
}

void handle_leave(Handle* handle) {
  --handle->users;
  end_if_over(handle);
}

void handle_close(Handle* handle) {
  if (handle->usable == NULL) return;
  handle->usable = NULL;
  end_if_over(handle);
}

PyObject* close_object(PyObject* object, PyObject* unused) {
  (void)unused;
  handle_close(&((HandleObject*)object)->handle);
  Py_RETURN_NONE;
}

PyObject* enter_context(PyObject* object, PyObject* unused) {
  (void)unused;
  Handle* const handle = &((HandleObject*)object)->handle;
  if (handle_enter(handle, state_of(object)) == NULL) return NULL;
  handle_leave(handle);
  return Py_NewRef(object);
}

PyObject* leave_context(PyObject* object, PyObject* exception) {
  (void)exception;
  return PyObject_CallMethod(object, "close", NULL);
}

PyObject* is_closed(PyObject* object, void* unused) {
  (void)unused;
  return PyBool_FromLong(((HandleObject*)object)->handle.usable == NULL);
}
