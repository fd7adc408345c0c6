#include <stdlib.h>

#include "addon.h"

void settings_free(settings* of) {
  if (of == NULL) return;
  for (size_t i = 0; i < sizeof of->texts / sizeof *of->texts; ++i) free(of->texts[i]);
  free(of);
}

/* The object has all members, as index.js makes it: texts or undefined, choices, and a BigInt. */
settings* settings_of(napi_env env, napi_value object) {
  static const char* const texts[] = {"store", "runtimeDir", "configFile", "program", "workerName", "layout"};
  static const char* const choices[] = {"useHostDefaults", "hostBuffer", "group"};
  napi_value value;
  settings* const made = calloc(1, sizeof *made);
  if (made == NULL) {
    throw_internal(env, "out of memory");
    return NULL;
  }
  leaf_options* const options = &made->options;
  options->size = sizeof *options;
  const char** const to_texts[] = {&options->store,   &options->runtime_dir, &options->config_file,
                                   &options->program, &options->worker_name, &options->layout};
  int* const to_choices[] = {&options->use_host_defaults, &options->host_buffer, &options->group};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    if (FAILS(napi_get_named_property(env, object, texts[i], &value)) ||
        !text_or_none(env, value, &made->texts[i]))
      goto failed;
    *to_texts[i] = made->texts[i];
  }
  for (size_t i = 0; i < sizeof choices / sizeof *choices; ++i) {
    int32_t choice = 0;
    if (FAILS(napi_get_named_property(env, object, choices[i], &value)) ||
        FAILS(napi_get_value_int32(env, value, &choice)))
      goto failed;
    *to_choices[i] = choice;
  }
  if (FAILS(napi_get_named_property(env, object, "timeout", &value)) ||
      !int64_of(env, value, &options->timeout_ms))
    goto failed;
  return made;

failed:
  settings_free(made);
  throw_internal(env, "options were expected");
  return NULL;
}

extern char** environ;

/* That of the process as it is now, which libleaf goes by: NAME=VALUE. A worker thread's process.env may
 * differ. */
static napi_value environment(napi_env env, napi_callback_info info) {
  (void)info;
  napi_value entries;
  if (FAILS(napi_create_array(env, &entries))) return NULL;
  uint32_t count = 0;
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry) {
    const napi_value text = text_new(env, *entry);
    if (text == NULL || FAILS(napi_set_element(env, entries, count++, text))) return NULL;
  }
  return entries;
}

bool define_settings(napi_env env, napi_value exports) {
  return define(env, exports, "environment", environment);
}
