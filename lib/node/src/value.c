#include <stdlib.h>
#include <string.h>

#include "addon.h"

void throw_internal(napi_env env, const char* what) {
  bool is_pending = false;
  if (napi_is_exception_pending(env, &is_pending) == napi_ok && !is_pending)
    napi_throw_type_error(env, NULL, what);
}

bool arguments(napi_env env, napi_callback_info info, size_t count, napi_value* values) {
  size_t given = count;
  if (FAILS(napi_get_cb_info(env, info, &given, values, NULL, NULL)) || given < count) {
    throw_internal(env, "an argument is missing");
    return false;
  }
  return true;
}

char* text_of(napi_env env, napi_value value) {
  size_t size = 0;
  if (FAILS(napi_get_value_string_utf8(env, value, NULL, 0, &size))) {
    throw_internal(env, "a string was expected");
    return NULL;
  }
  char* text = malloc(size + 1);
  if (text == NULL || FAILS(napi_get_value_string_utf8(env, value, text, size + 1, &size))) {
    free(text);
    throw_internal(env, "out of memory");
    return NULL;
  }
  return text;
}

bool text_or_none(napi_env env, napi_value value, char** text) {
  napi_valuetype type = napi_undefined;
  *text = NULL;
  if (FAILS(napi_typeof(env, value, &type))) return false;
  if (type == napi_undefined) return true;
  *text = text_of(env, value);
  return *text != NULL;
}

bool int64_of(napi_env env, napi_value value, int64_t* number) {
  bool is_lossless = false;
  if (FAILS(napi_get_value_bigint_int64(env, value, number, &is_lossless)) || !is_lossless) {
    throw_internal(env, "a BigInt of 64 bits was expected");
    return false;
  }
  return true;
}

napi_value undefined_value(napi_env env) {
  napi_value result = NULL;
  return FAILS(napi_get_undefined(env, &result)) ? NULL : result;
}

bool set(napi_env env, napi_value object, const char* name, napi_value value) {
  return value != NULL && napi_set_named_property(env, object, name, value) == napi_ok;
}

bool set_bigint(napi_env env, napi_value object, const char* name, int64_t number) {
  napi_value value;
  return napi_create_bigint_int64(env, number, &value) == napi_ok && set(env, object, name, value);
}

bool set_number(napi_env env, napi_value object, const char* name, int64_t number) {
  napi_value value;
  return napi_create_int64(env, number, &value) == napi_ok && set(env, object, name, value);
}

napi_value text_new(napi_env env, const char* text) {
  napi_value value;
  return FAILS(napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value)) ? NULL : value;
}

bool set_text(napi_env env, napi_value object, const char* name, const char* text) {
  const napi_value value = text_new(env, text);
  return value != NULL && set(env, object, name, value);
}
