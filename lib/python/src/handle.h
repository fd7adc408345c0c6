/* A handle of the library that any thread may close while others use it: what a call is in stays open until
 * the call has ended, and the last one out closes it. So nobody waits for anybody.
 *
 * All members belong to whoever holds the GIL. In a child of fork() the calls that other threads of the
 * parent were in never end: a handle that is closed there stays open then. */
#ifndef LEAF_PYTHON_HANDLE_H
#define LEAF_PYTHON_HANDLE_H

#include "module.h"

typedef struct Handle {
  void* usable; /* NULL once it is closed */
  void* made;
  size_t users;
  const char* what;
  void (*end)(struct Handle* handle); /* closes `made` */
} Handle;

/* What every object that has one begins with. */
typedef struct HandleObject {
  PyObject ob_base;
  Handle handle;
} HandleObject;

void handle_init(Handle* handle, void* made, const char* what, void (*end)(Handle* handle));

/* What to call the library with, until handle_leave(). NULL with an exception set if it is closed. */
void* handle_enter(Handle* handle, const ModuleState* state);
void handle_leave(Handle* handle);

/* Nothing can enter any more. Also for one that is closed, or was never made. */
void handle_close(Handle* handle);

/* Members of such objects. */
PyObject* close_object(PyObject* object, PyObject* unused);
PyObject* enter_context(PyObject* object, PyObject* unused);
PyObject* leave_context(PyObject* object, PyObject* exception);
PyObject* is_closed(PyObject* object, void* unused);

/* Their rows in a table of methods; `close` differs between types. */
#define CONTEXT_METHODS                              \
  {"__enter__", enter_context, METH_NOARGS, NULL}, { \
    "__exit__", leave_context, METH_VARARGS, NULL    \
  }
#define CLOSED_DOC "True once it is closed."

#endif
