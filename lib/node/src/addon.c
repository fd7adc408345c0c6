#include <stdlib.h>

#include "addon.h"

instance* instance_of(napi_env env) {
  void* data = NULL;
  return FAILS(napi_get_instance_data(env, &data)) ? NULL : data;
}

void instance_release(instance* of) {
  if (--of->holders == 0) free(of);
}

/* Before the handles that are left are collected: no task is run any more, so they are closed at once. */
static void environment_ends(void* data) {
  ((instance*)data)->is_ending = true;
}

static void instance_ends(napi_env env, void* data, void* hint) {
  (void)env;
  (void)hint;
  instance_release(data);
}

bool define(napi_env env, napi_value exports, const char* name, napi_callback call) {
  napi_value function;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, call, NULL, &function) == napi_ok &&
         set(env, exports, name, function);
}

static napi_value use_error_class(napi_env env, napi_callback_info info) {
  napi_value value;
  instance* const of = instance_of(env);
  if (of == NULL || of->error_class != NULL || !arguments(env, info, 1, &value)) return NULL;
  napi_create_reference(env, value, 1, &of->error_class);
  return NULL;
}

static napi_value close_handle(napi_env env, napi_callback_info info) {
  napi_value value;
  if (!arguments(env, info, 1, &value)) return NULL;
  handle* const of = handle_of_any(env, value);
  return of == NULL ? NULL : handle_close(env, of);
}

static bool define_drawn(napi_env env, napi_value exports, instance* of) {
  napi_value buffer;
  void* data;
  if (FAILS(napi_create_arraybuffer(env, sizeof(drawn), &data, &buffer)) ||
      FAILS(napi_create_reference(env, buffer, 1, &of->drawn_ref)))
    return false;
  of->drawn = data;
  return set(env, exports, "drawn", buffer);
}

NAPI_MODULE_INIT() {
  instance* const of = calloc(1, sizeof *of);
  if (of == NULL) return NULL;
  of->env = env;
  of->holders = 1;
  if (FAILS(napi_set_instance_data(env, of, instance_ends, NULL))) {
    free(of);
    return NULL;
  }
  if (FAILS(napi_add_env_cleanup_hook(env, environment_ends, of)) || !define_drawn(env, exports, of) ||
      !set_text(env, exports, "builtFor", LEAF_BUILT_FOR) ||
      !set_text(env, exports, "version", leaf_version()) || !set_bigint(env, exports, "maxId", LEAF_MAX_ID) ||
      !define(env, exports, "useErrorClass", use_error_class) ||
      !define(env, exports, "close", close_handle) || !define_allocator(env, exports) ||
      !define_generator(env, exports) || !define_layout(env, exports) || !define_settings(env, exports) ||
      !define_source(env, exports) || !define_store(env, exports))
    return NULL;
  return exports;
}
