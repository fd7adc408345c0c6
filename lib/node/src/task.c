#include <stdlib.h>

#include "addon.h"

static void dispose(napi_env env, task* of) {
  if (of->dispose != NULL) of->dispose(of);
  if (of->kept != NULL) napi_delete_reference(env, of->kept);
  if (of->handle != NULL) {
    handle_unuse(of->handle);
    handle_release(of->handle);
  }
}

static void run(napi_env env, void* data) {
  task* const of = data;
  (void)env;
  of->status = of->run(of);
}

static void reject_pending(napi_env env, task* of) {
  bool is_pending = false;
  napi_value exception;
  if (napi_is_exception_pending(env, &is_pending) == napi_ok && is_pending &&
      napi_get_and_clear_last_exception(env, &exception) == napi_ok)
    napi_reject_deferred(env, of->deferred, exception);
}

/* An environment that ends takes no values any more: all that fails here then is of no consequence. */
static void end(napi_env env, napi_status status, void* data) {
  task* const of = data;
  if (status == napi_ok && of->status == LEAF_OK) {
    napi_value value = of->result == NULL ? undefined_value(env) : of->result(env, of);
    if (value == NULL) {
      reject_pending(env, of);
    } else {
      napi_resolve_deferred(env, of->deferred, value);
    }
  } else if (of->error != NULL) {
    napi_value error = error_new(env, of->error);
    if (error == NULL) {
      reject_pending(env, of);
    } else {
      napi_reject_deferred(env, of->deferred, error);
    }
  }
  napi_delete_async_work(env, of->work);
  dispose(env, of);
  free(of);
}

napi_value task_start(napi_env env, const task* model, handle* of, napi_value kept) {
  napi_value promise;
  napi_value name;
  task* const made = malloc(sizeof *made);
  task refused = *model;
  if (made == NULL) {
    dispose(env, &refused);
    throw_internal(env, "out of memory");
    return NULL;
  }
  *made = *model;
  made->handle = of;
  if (of != NULL) {
    handle_use(of);
    handle_hold(of);
  }
  if ((kept != NULL && FAILS(napi_create_reference(env, kept, 1, &made->kept))) ||
      FAILS(napi_create_string_utf8(env, "leaf", NAPI_AUTO_LENGTH, &name)) ||
      FAILS(napi_create_promise(env, &made->deferred, &promise)) ||
      FAILS(napi_create_async_work(env, NULL, name, run, end, made, &made->work))) {
    dispose(env, made);
    free(made);
    throw_internal(env, "the call cannot be started");
    return NULL;
  }
  if (FAILS(napi_queue_async_work(env, made->work))) {
    napi_delete_async_work(env, made->work);
    dispose(env, made);
    free(made);
    throw_internal(env, "the call cannot be started");
    return NULL;
  }
  return promise;
}
