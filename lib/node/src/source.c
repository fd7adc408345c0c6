/* What gives IDs, one or many: a tag or a generator. */
#include "addon.h"

static handle* source_of(napi_env env, napi_value value) {
  handle* const of = handle_of_any(env, value);
  return of == NULL ? NULL : handle_of(env, value, of->kind == OF_GENERATOR ? OF_GENERATOR : OF_TAG);
}

static leaf_status draw_next(handle* of, int64_t* id, leaf_error** error) {
  return of->kind == OF_TAG ? leaf_tag_next(of->leaf.tag, id, error)
                            : leaf_generator_next(of->leaf.generator, id, error);
}

/* The handle comes with the function, which costs less than to look it up in `this`. */
static napi_value draw_of_tag(napi_env env, napi_callback_info info) {
  void* data;
  if (FAILS(napi_get_cb_info(env, info, NULL, NULL, NULL, &data))) return NULL;
  handle* const of = data;
  drawn* const place = of->instance->drawn;
  place->is_taken = !of->is_closed && leaf_tag_try_next(of->leaf.tag, &place->id);
  return NULL;
}

static napi_value draw_of_generator(napi_env env, napi_callback_info info) {
  void* data;
  if (FAILS(napi_get_cb_info(env, info, NULL, NULL, NULL, &data))) return NULL;
  handle* const of = data;
  drawn* const place = of->instance->drawn;
  place->is_taken = !of->is_closed && leaf_generator_try_next(of->leaf.generator, &place->id);
  return NULL;
}

static void drawer_is_collected(napi_env env, void* data, void* hint) {
  (void)env;
  (void)hint;
  handle_release(data);
}

/* A function that leaves an ID in the instance's `drawn` if one is there to be taken. */
static napi_value drawer(napi_env env, napi_callback_info info) {
  napi_value value;
  napi_value function;
  if (!arguments(env, info, 1, &value)) return NULL;
  handle* const of = source_of(env, value);
  if (of == NULL ||
      FAILS(napi_create_function(env, "draw", NAPI_AUTO_LENGTH,
                                 of->kind == OF_TAG ? draw_of_tag : draw_of_generator, of, &function)))
    return NULL;
  handle_hold(of);
  if (FAILS(napi_add_finalizer(env, function, of, drawer_is_collected, NULL, NULL))) {
    handle_release(of);
    return NULL;
  }
  return function;
}

static napi_value next(napi_env env, napi_callback_info info) {
  napi_value value;
  napi_value result;
  leaf_error* error = NULL;
  int64_t id;
  if (!arguments(env, info, 1, &value)) return NULL;
  handle* const of = source_of(env, value);
  if (of == NULL) return NULL;
  if (draw_next(of, &id, &error) != LEAF_OK) return error_throw(env, error);
  return FAILS(napi_create_bigint_int64(env, id, &result)) ? NULL : result;
}

static leaf_status run_next(task* of) {
  return draw_next(of->handle, &of->as.id, &of->error);
}

static napi_value id_of_task(napi_env env, task* of) {
  napi_value result;
  return FAILS(napi_create_bigint_int64(env, of->as.id, &result)) ? NULL : result;
}

static napi_value next_later(napi_env env, napi_callback_info info) {
  napi_value value;
  const task model = {.run = run_next, .result = id_of_task};
  if (!arguments(env, info, 1, &value)) return NULL;
  handle* const of = source_of(env, value);
  return of == NULL ? NULL : task_start(env, &model, of, NULL);
}

static leaf_status run_fill(task* of) {
  int64_t* const ids = of->as.fill.ids;
  const size_t count = of->as.fill.count;
  return of->handle->kind == OF_TAG ? leaf_tag_fill(of->handle->leaf.tag, ids, count, &of->error)
                                    : leaf_generator_fill(of->handle->leaf.generator, ids, count, &of->error);
}

static napi_value fill(napi_env env, napi_callback_info info) {
  napi_value values[2];
  napi_typedarray_type type = napi_int8_array;
  void* data = NULL;
  task model = {.run = run_fill};
  if (!arguments(env, info, 2, values)) return NULL;
  handle* const of = source_of(env, values[0]);
  if (of == NULL) return NULL;
  if (FAILS(napi_get_typedarray_info(env, values[1], &type, &model.as.fill.count, &data, NULL, NULL)) ||
      type != napi_bigint64_array) {
    throw_internal(env, "a BigInt64Array was expected");
    return NULL;
  }
  model.as.fill.ids = data;
  return task_start(env, &model, of, values[1]);
}

bool define_source(napi_env env, napi_value exports) {
  return define(env, exports, "drawer", drawer) && define(env, exports, "next", next) &&
         define(env, exports, "nextLater", next_later) && define(env, exports, "fill", fill);
}
