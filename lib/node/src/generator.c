#include "addon.h"

static leaf_status run_open(task* of) {
  of->as.open.generator = leaf_generator_open(&of->as.open.settings->options, &of->error);
  return of->as.open.generator == NULL ? leaf_error_status(of->error) : LEAF_OK;
}

static napi_value handle_of_task(napi_env env, task* of) {
  leaf_generator* const generator = of->as.open.generator;
  of->as.open.generator = NULL;
  return handle_new(env, OF_GENERATOR, (leaf_pointer){.generator = generator}, NULL);
}

static void dispose_open(task* of) {
  settings_free(of->as.open.settings);
  leaf_generator_close(of->as.open.generator);
}

static napi_value open_generator(napi_env env, napi_callback_info info) {
  napi_value options;
  task model = {.run = run_open, .result = handle_of_task, .dispose = dispose_open};
  if (!arguments(env, info, 1, &options)) return NULL;
  model.as.open.settings = settings_of(env, options);
  return model.as.open.settings == NULL ? NULL : task_start(env, &model, NULL, NULL);
}

static napi_value worker(napi_env env, napi_callback_info info) {
  napi_value result;
  leaf_error* error = NULL;
  int64_t number;
  handle* const of = handle_argument(env, info, OF_GENERATOR);
  if (of == NULL) return NULL;
  if (leaf_generator_worker(of->leaf.generator, &number, &error) != LEAF_OK) return error_throw(env, error);
  return FAILS(napi_create_bigint_int64(env, number, &result)) ? NULL : result;
}

static napi_value layout_of_generator(napi_env env, napi_callback_info info) {
  leaf_error* error = NULL;
  handle* const of = handle_argument(env, info, OF_GENERATOR);
  if (of == NULL) return NULL;
  leaf_layout* const layout = leaf_generator_layout(of->leaf.generator, &error);
  if (layout == NULL) return error_throw(env, error);
  return handle_new(env, OF_LAYOUT, (leaf_pointer){.layout = layout}, NULL);
}

bool define_generator(napi_env env, napi_value exports) {
  return define(env, exports, "openGenerator", open_generator) && define(env, exports, "worker", worker) &&
         define(env, exports, "layoutOfGenerator", layout_of_generator);
}
