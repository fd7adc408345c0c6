#include "addon.h"

static napi_value make(napi_env env, const char* text, const char* code, const char* hint,
                       bool is_retryable) {
  instance* const of = instance_of(env);
  napi_value values[4];
  napi_value constructor;
  napi_value error;
  if (of == NULL || of->error_class == NULL ||
      FAILS(napi_get_reference_value(env, of->error_class, &constructor)) ||
      FAILS(napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &values[0])) ||
      FAILS(napi_create_string_utf8(env, code, NAPI_AUTO_LENGTH, &values[1])) ||
      FAILS(napi_create_string_utf8(env, hint, NAPI_AUTO_LENGTH, &values[2])) ||
      FAILS(napi_get_boolean(env, is_retryable, &values[3])) ||
      FAILS(napi_new_instance(env, constructor, 4, values, &error)))
    return NULL;
  return error;
}

static const char* code_of(leaf_status status) {
  switch (status) {
    case LEAF_USAGE:
      return "USAGE";
    case LEAF_UNAVAILABLE:
      return "UNAVAILABLE";
    case LEAF_NOT_FOUND:
      return "NOT_FOUND";
    case LEAF_REFUSED:
      return "REFUSED";
    case LEAF_EXHAUSTED:
      return "EXHAUSTED";
    case LEAF_OK:
    case LEAF_FAILED:
      break;
  }
  return "FAILED";
}

napi_value error_new(napi_env env, leaf_error* error) {
  napi_value made = make(env, leaf_error_text(error), code_of(leaf_error_status(error)),
                         leaf_error_hint(error), leaf_error_is_retryable(error) != 0);
  leaf_error_free(error);
  return made;
}

static napi_value throw_value(napi_env env, napi_value error) {
  if (error != NULL) napi_throw(env, error);
  return NULL;
}

napi_value error_throw(napi_env env, leaf_error* error) {
  return throw_value(env, error_new(env, error));
}

napi_value error_throw_closed(napi_env env, handle_kind kind) {
  static const char* const texts[] = {"the allocator is closed", "the tag is closed",
                                      "the generator is closed", "the store is closed",
                                      "the layout is closed"};
  return throw_value(env, make(env, texts[kind], "CLOSED", "", false));
}
