#include "addon.h"

static leaf_status run_lease(task* of) {
  int64_t worker;
  return leaf_generator_worker(of->as.generator, &worker, &of->error);
}

static napi_value handle_of_task(napi_env env, task* of) {
  leaf_generator* const generator = of->as.generator;
  of->as.generator = NULL;
  return handle_new(env, OF_GENERATOR, (leaf_pointer){.generator = generator}, NULL);
}

static void dispose_open(task* of) {
  leaf_generator_close(of->as.generator);
}

/* Environment and files are read at once: they may say something else when a thread of the pool is free. */
static napi_value open_generator(napi_env env, napi_callback_info info) {
  napi_value options;
  leaf_error* error = NULL;
  task model = {.run = run_lease, .result = handle_of_task, .dispose = dispose_open};
  if (!arguments(env, info, 1, &options)) return NULL;
  settings* const said = settings_of(env, options);
  if (said == NULL) return NULL;
  model.as.generator = leaf_generator_prepare(&said->options, &error);
  settings_free(said);
  if (model.as.generator == NULL) return error_throw(env, error);
  return task_start(env, &model, NULL, NULL);
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
