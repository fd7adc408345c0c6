/* The parts of the addon. All but what runs in a task belongs to the thread of one JavaScript environment, so
 * nothing here needs a lock. Arguments are checked in index.js; here only what memory safety hangs on. */
#ifndef LEAF_NODE_ADDON_H
#define LEAF_NODE_ADDON_H

#define NAPI_VERSION 8

#include <leaf/leaf.h>
#include <node_api.h>
#include <stdbool.h>

/* Where a draw leaves its ID: index.js reads it as typed arrays, which costs less than to return a BigInt. */
typedef struct drawn {
  int64_t id;
  int32_t is_taken;
  int32_t unused;
} drawn;

/* What an environment (the main thread's, or a worker's) has of its own. It lives as long as any handle. */
typedef struct instance {
  napi_env env;
  drawn* drawn;
  napi_ref drawn_ref;
  napi_ref error_class;
  size_t holders;
  bool is_ending; /* no task can be started any more */
} instance;

instance* instance_of(napi_env env);
void instance_release(instance* of);

/* --- handles */

typedef enum handle_kind { OF_ALLOCATOR, OF_TAG, OF_GENERATOR, OF_STORE, OF_LAYOUT } handle_kind;

typedef union leaf_pointer {
  void* any;
  leaf_allocator* allocator;
  leaf_tag* tag;
  leaf_generator* generator;
  leaf_store* store;
  leaf_layout* layout;
} leaf_pointer;

/* A handle of libleaf. It is open until close() or the garbage collector closes it; libleaf closes it, in a
 * task, when nothing uses it any more: no call under way, no tag of an allocator. */
typedef struct handle {
  uint64_t magic;
  handle_kind kind;
  leaf_pointer leaf;
  instance* instance;
  struct handle* parent;   /* the allocator of a tag */
  struct handle* children; /* the tags of an allocator that are open */
  struct handle* next;
  struct handle* previous;
  size_t users;   /* that keep libleaf's handle */
  size_t holders; /* that keep this memory */
  bool is_closed;
  napi_deferred closing;
} handle;

/* Takes `leaf`, also where it fails. */
napi_value handle_new(napi_env env, handle_kind kind, leaf_pointer leaf, handle* parent);
/* The handle in `value`, or NULL with an exception pending: of another kind, or closed. */
handle* handle_of(napi_env env, napi_value value, handle_kind kind);
handle* handle_of_any(napi_env env, napi_value value);
/* The same of a call's only argument. */
handle* handle_argument(napi_env env, napi_callback_info info, handle_kind kind);
void handle_use(handle* of);
void handle_unuse(handle* of);
void handle_hold(handle* of);
void handle_release(handle* of);
/* Closes it for new calls; the promise is kept once libleaf has closed it. */
napi_value handle_close(napi_env env, handle* of);

/* --- errors: each throws, or makes, what index.js calls LeafError */

napi_value error_new(napi_env env, leaf_error* error); /* frees `error` */
napi_value error_throw(napi_env env, leaf_error* error);
napi_value error_throw_closed(napi_env env, handle_kind kind);

/* --- tasks: calls that may wait, in the threads of libuv */

typedef struct task task;
struct task {
  napi_async_work work;
  napi_deferred deferred;
  handle* handle;
  napi_ref kept; /* what the call writes to */
  leaf_error* error;
  leaf_status status;
  leaf_status (*run)(task*);                 /* in another thread */
  napi_value (*result)(napi_env env, task*); /* NULL: undefined */
  void (*dispose)(task*);                    /* may be NULL */
  union {
    int64_t id;
    struct {
      int64_t* ids;
      size_t count;
    } fill;
    struct {
      uint64_t at_most;
      leaf_range range;
    } range;
    leaf_generator* generator; /* while it is opened */
    struct {
      char* name;
      char* description;
      leaf_new_tag tag;
    } add;
    struct {
      char* name;
      leaf_tag_list* list;
    } list;
  } as;
};

/* A copy of `model` under way on `of`, which may be NULL: its promise, or NULL with an exception pending.
 * What `model` owns is disposed of in each case. */
napi_value task_start(napi_env env, const task* model, handle* of, napi_value kept);

/* --- values */

#define FAILS(call) ((call) != napi_ok)

/* The arguments of a call: false with an exception pending if one is missing. */
bool arguments(napi_env env, napi_callback_info info, size_t count, napi_value* values);
/* A copy to be freed of a string; NULL with an exception pending. */
char* text_of(napi_env env, napi_value value);
/* As text_of(); undefined is NULL. */
bool text_or_none(napi_env env, napi_value value, char** text);
bool int64_of(napi_env env, napi_value value, int64_t* number);
napi_value undefined_value(napi_env env);
bool set(napi_env env, napi_value object, const char* name, napi_value value);
bool set_bigint(napi_env env, napi_value object, const char* name, int64_t number);
bool set_number(napi_env env, napi_value object, const char* name, int64_t number);
napi_value text_new(napi_env env, const char* text);
bool set_text(napi_env env, napi_value object, const char* name, const char* text);
void throw_internal(napi_env env, const char* what);

/* --- what index.js calls */

typedef struct settings {
  leaf_options options;
  char* texts[6];
} settings;

settings* settings_of(napi_env env, napi_value object);
void settings_free(settings* of);

bool define_allocator(napi_env env, napi_value exports);
bool define_generator(napi_env env, napi_value exports);
bool define_layout(napi_env env, napi_value exports);
bool define_source(napi_env env, napi_value exports);
bool define_settings(napi_env env, napi_value exports);
bool define_store(napi_env env, napi_value exports);
bool define(napi_env env, napi_value exports, const char* name, napi_callback call);

#endif
