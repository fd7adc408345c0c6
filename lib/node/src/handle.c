#include <stdlib.h>

#include "addon.h"

/* No other addon's external value begins with it. */
static const uint64_t magic = 0x6c6561662d6e6f64;

static void close_in_libleaf(handle* of) {
  switch (of->kind) {
    case OF_ALLOCATOR:
      leaf_allocator_close(of->leaf.allocator);
      break;
    case OF_TAG:
      leaf_tag_close(of->leaf.tag);
      break;
    case OF_GENERATOR:
      leaf_generator_close(of->leaf.generator);
      break;
    case OF_STORE:
      leaf_store_close(of->leaf.store);
      break;
    case OF_LAYOUT:
      leaf_layout_free(of->leaf.layout);
      break;
  }
}

/* Libleaf has closed it. */
static void is_gone(handle* of) {
  handle* const parent = of->parent;
  of->leaf.any = NULL;
  of->parent = NULL;
  if (of->closing != NULL) {
    napi_value undefined = undefined_value(of->instance->env);
    if (undefined != NULL) napi_resolve_deferred(of->instance->env, of->closing, undefined);
    of->closing = NULL;
  }
  if (parent != NULL) {
    handle_unuse(parent);
    handle_release(parent);
  }
  handle_release(of);
}

typedef struct closing {
  napi_async_work work;
  handle* handle;
} closing;

static void run_closing(napi_env env, void* data) {
  (void)env;
  close_in_libleaf(((closing*)data)->handle);
}

static void end_closing(napi_env env, napi_status status, void* data) {
  closing* const under_way = data;
  if (status == napi_cancelled) close_in_libleaf(under_way->handle);
  napi_delete_async_work(env, under_way->work);
  is_gone(under_way->handle);
  free(under_way);
}

static bool start_closing(handle* of) {
  napi_env env = of->instance->env;
  napi_value name;
  closing* const under_way = of->instance->is_ending ? NULL : malloc(sizeof *under_way);
  if (under_way == NULL) return false;
  under_way->handle = of;
  if (FAILS(napi_create_string_utf8(env, "leaf", NAPI_AUTO_LENGTH, &name)) ||
      FAILS(napi_create_async_work(env, NULL, name, run_closing, end_closing, under_way, &under_way->work))) {
    free(under_way);
    return false;
  }
  if (FAILS(napi_queue_async_work(env, under_way->work))) {
    napi_delete_async_work(env, under_way->work);
    free(under_way);
    return false;
  }
  return true;
}

void handle_use(handle* of) {
  ++of->users;
}

/* The last user has it closed where nobody waits: closing may wait for fetches under way. */
void handle_unuse(handle* of) {
  if (--of->users > 0) return;
  handle_hold(of); /* until is_gone() */
  if (of->kind != OF_LAYOUT && start_closing(of)) return;
  close_in_libleaf(of);
  is_gone(of);
}

void handle_hold(handle* of) {
  ++of->holders;
}

void handle_release(handle* of) {
  if (--of->holders > 0) return;
  instance_release(of->instance);
  free(of);
}

static void mark_closed(handle* of) {
  if (of->is_closed) return;
  of->is_closed = true;
  if (of->parent != NULL) {
    if (of->next != NULL) of->next->previous = of->previous;
    if (of->previous != NULL) {
      of->previous->next = of->next;
    } else {
      of->parent->children = of->next;
    }
  }
  while (of->children != NULL) mark_closed(of->children);
  handle_unuse(of);
}

napi_value handle_close(napi_env env, handle* of) {
  napi_value promise;
  if (of->is_closed || FAILS(napi_create_promise(env, &of->closing, &promise))) return undefined_value(env);
  mark_closed(of);
  return promise;
}

static void is_collected(napi_env env, void* data, void* hint) {
  (void)env;
  (void)hint;
  mark_closed(data);
  handle_release(data);
}

napi_value handle_new(napi_env env, handle_kind kind, leaf_pointer leaf, handle* parent) {
  handle* const made = calloc(1, sizeof *made);
  handle closer = {.kind = kind, .leaf = leaf};
  if (made == NULL) {
    close_in_libleaf(&closer);
    throw_internal(env, "out of memory");
    return NULL;
  }
  made->magic = magic;
  made->kind = kind;
  made->leaf = leaf;
  made->instance = instance_of(env);
  ++made->instance->holders;
  made->users = made->holders = 1;
  if (parent != NULL) {
    made->parent = parent;
    made->next = parent->children;
    if (made->next != NULL) made->next->previous = made;
    parent->children = made;
    handle_use(parent);
    handle_hold(parent);
  }
  napi_value value;
  if (FAILS(napi_create_external(env, made, is_collected, NULL, &value))) {
    is_collected(env, made, NULL);
    return NULL;
  }
  return value;
}

handle* handle_of_any(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  void* data = NULL;
  if (FAILS(napi_typeof(env, value, &type)) || type != napi_external ||
      FAILS(napi_get_value_external(env, value, &data)) || ((handle*)data)->magic != magic) {
    throw_internal(env, "a handle was expected");
    return NULL;
  }
  return data;
}

handle* handle_of(napi_env env, napi_value value, handle_kind kind) {
  handle* const found = handle_of_any(env, value);
  if (found == NULL) return NULL;
  if (found->kind != kind) {
    throw_internal(env, "a handle of another kind was expected");
    return NULL;
  }
  if (found->is_closed) {
    error_throw_closed(env, kind);
    return NULL;
  }
  return found;
}

handle* handle_argument(napi_env env, napi_callback_info info, handle_kind kind) {
  napi_value value;
  return arguments(env, info, 1, &value) ? handle_of(env, value, kind) : NULL;
}
