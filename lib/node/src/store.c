#include <stdlib.h>

#include "addon.h"

static napi_value open_store(napi_env env, napi_callback_info info) {
  napi_value options;
  leaf_error* error = NULL;
  if (!arguments(env, info, 1, &options)) return NULL;
  settings* const said = settings_of(env, options);
  if (said == NULL) return NULL;
  leaf_store* const store = leaf_store_open(&said->options, &error);
  settings_free(said);
  if (store == NULL) return error_throw(env, error);
  return handle_new(env, OF_STORE, (leaf_pointer){.store = store}, NULL);
}

static leaf_status run_add(task* of) {
  of->as.add.tag.size = sizeof of->as.add.tag;
  of->as.add.tag.name = of->as.add.name;
  of->as.add.tag.description = of->as.add.description;
  return leaf_store_add_tag(of->handle->leaf.store, &of->as.add.tag, &of->error);
}

static void dispose_add(task* of) {
  free(of->as.add.name);
  free(of->as.add.description);
}

/* store, name, description or undefined, step, start, limit */
static napi_value add_tag(napi_env env, napi_callback_info info) {
  napi_value values[6];
  task model = {.run = run_add, .dispose = dispose_add};
  if (!arguments(env, info, 6, values)) return NULL;
  handle* const of = handle_of(env, values[0], OF_STORE);
  if (of == NULL || !int64_of(env, values[3], &model.as.add.tag.step) ||
      !int64_of(env, values[4], &model.as.add.tag.start) ||
      !int64_of(env, values[5], &model.as.add.tag.limit))
    return NULL;
  model.as.add.name = text_of(env, values[1]);
  if (model.as.add.name == NULL || !text_or_none(env, values[2], &model.as.add.description)) {
    dispose_add(&model);
    return NULL;
  }
  return task_start(env, &model, of, NULL);
}

static napi_value info_value(napi_env env, const leaf_tag_info* info) {
  napi_value result;
  napi_value granted;
  if (FAILS(napi_create_object(env, &result)) || !set_text(env, result, "name", info->name) ||
      !set_text(env, result, "description", info->description) ||
      !set_bigint(env, result, "nextId", info->next_id) || !set_number(env, result, "step", info->step) ||
      !set_bigint(env, result, "start", info->start) || !set_bigint(env, result, "limit", info->limit) ||
      FAILS(napi_create_date(env, (double)info->updated_ms, &granted)) ||
      !set(env, result, "updated", granted))
    return NULL;
  const napi_status status = info->granted_ms == INT64_MIN
                                 ? napi_get_null(env, &granted)
                                 : napi_create_date(env, (double)info->granted_ms, &granted);
  return status == napi_ok && set(env, result, "granted", granted) ? result : NULL;
}

static void dispose_list(task* of) {
  free(of->as.list.name);
  leaf_tag_list_free(of->as.list.list);
}

static leaf_status run_tag(task* of) {
  of->as.list.list = leaf_store_tag(of->handle->leaf.store, of->as.list.name, &of->error);
  return of->as.list.list == NULL ? leaf_error_status(of->error) : LEAF_OK;
}

static napi_value tag_of_task(napi_env env, task* of) {
  return info_value(env, leaf_tag_list_at(of->as.list.list, 0));
}

static napi_value tag(napi_env env, napi_callback_info info) {
  napi_value values[2];
  task model = {.run = run_tag, .result = tag_of_task, .dispose = dispose_list};
  if (!arguments(env, info, 2, values)) return NULL;
  handle* const of = handle_of(env, values[0], OF_STORE);
  if (of == NULL || (model.as.list.name = text_of(env, values[1])) == NULL) return NULL;
  return task_start(env, &model, of, NULL);
}

static leaf_status run_tags(task* of) {
  of->as.list.list = leaf_store_tags(of->handle->leaf.store, &of->error);
  return of->as.list.list == NULL ? leaf_error_status(of->error) : LEAF_OK;
}

static napi_value tags_of_task(napi_env env, task* of) {
  napi_value result;
  const size_t size = leaf_tag_list_size(of->as.list.list);
  if (FAILS(napi_create_array_with_length(env, size, &result))) return NULL;
  for (size_t i = 0; i < size; ++i) {
    napi_handle_scope scope;
    if (FAILS(napi_open_handle_scope(env, &scope))) return NULL;
    napi_value info = info_value(env, leaf_tag_list_at(of->as.list.list, i));
    const bool is_set = info != NULL && napi_set_element(env, result, (uint32_t)i, info) == napi_ok;
    napi_close_handle_scope(env, scope);
    if (!is_set) return NULL;
  }
  return result;
}

static napi_value tags(napi_env env, napi_callback_info info) {
  napi_value value;
  const task model = {.run = run_tags, .result = tags_of_task, .dispose = dispose_list};
  if (!arguments(env, info, 1, &value)) return NULL;
  handle* const of = handle_of(env, value, OF_STORE);
  return of == NULL ? NULL : task_start(env, &model, of, NULL);
}

bool define_store(napi_env env, napi_value exports) {
  return define(env, exports, "openStore", open_store) && define(env, exports, "addTag", add_tag) &&
         define(env, exports, "storeTag", tag) && define(env, exports, "storeTags", tags);
}
