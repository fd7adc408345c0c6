/* Allocators and their tags. */
#include <stdlib.h>

#include "addon.h"

static napi_value open_allocator(napi_env env, napi_callback_info info) {
  napi_value options;
  leaf_error* error = NULL;
  if (!arguments(env, info, 1, &options)) return NULL;
  settings* const said = settings_of(env, options);
  if (said == NULL) return NULL;
  leaf_allocator* const allocator = leaf_allocator_open(&said->options, &error);
  settings_free(said);
  if (allocator == NULL) return error_throw(env, error);
  return handle_new(env, OF_ALLOCATOR, (leaf_pointer){.allocator = allocator}, NULL);
}

static napi_value store_of_allocator(napi_env env, napi_callback_info info) {
  handle* const of = handle_argument(env, info, OF_ALLOCATOR);
  return of == NULL ? NULL : text_new(env, leaf_allocator_store(of->leaf.allocator));
}

static napi_value open_tag(napi_env env, napi_callback_info info) {
  napi_value values[2];
  leaf_error* error = NULL;
  if (!arguments(env, info, 2, values)) return NULL;
  handle* const allocator = handle_of(env, values[0], OF_ALLOCATOR);
  char* const name = allocator == NULL ? NULL : text_of(env, values[1]);
  if (name == NULL) return NULL;
  leaf_tag* const tag = leaf_allocator_tag(allocator->leaf.allocator, name, &error);
  free(name);
  if (tag == NULL) return error_throw(env, error);
  return handle_new(env, OF_TAG, (leaf_pointer){.tag = tag}, allocator);
}

static leaf_status run_range(task* of) {
  return leaf_tag_next_range(of->handle->leaf.tag, of->as.range.at_most, &of->as.range.range, &of->error);
}

static napi_value range_of_task(napi_env env, task* of) {
  napi_value result;
  if (FAILS(napi_create_object(env, &result)) || !set_bigint(env, result, "lo", of->as.range.range.lo) ||
      !set_bigint(env, result, "hi", of->as.range.range.hi))
    return NULL;
  return result;
}

static napi_value range(napi_env env, napi_callback_info info) {
  napi_value values[2];
  int64_t at_most;
  task model = {.run = run_range, .result = range_of_task};
  if (!arguments(env, info, 2, values)) return NULL;
  handle* const of = handle_of(env, values[0], OF_TAG);
  if (of == NULL || !int64_of(env, values[1], &at_most)) return NULL;
  model.as.range.at_most = at_most < 0 ? 0 : (uint64_t)at_most;
  return task_start(env, &model, of, NULL);
}

bool define_allocator(napi_env env, napi_value exports) {
  return define(env, exports, "openAllocator", open_allocator) &&
         define(env, exports, "storeOfAllocator", store_of_allocator) &&
         define(env, exports, "openTag", open_tag) && define(env, exports, "range", range);
}
