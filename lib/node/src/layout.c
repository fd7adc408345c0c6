#include <stdlib.h>

#include "addon.h"

static napi_value parse_layout(napi_env env, napi_callback_info info) {
  napi_value value;
  leaf_error* error = NULL;
  if (!arguments(env, info, 1, &value)) return NULL;
  char* const text = text_of(env, value);
  if (text == NULL) return NULL;
  leaf_layout* const layout = leaf_layout_parse(text, &error);
  free(text);
  if (layout == NULL) return error_throw(env, error);
  return handle_new(env, OF_LAYOUT, (leaf_pointer){.layout = layout}, NULL);
}

static napi_value layout_text(napi_env env, napi_callback_info info) {
  handle* const of = handle_argument(env, info, OF_LAYOUT);
  return of == NULL ? NULL : text_new(env, leaf_layout_text(of->leaf.layout));
}

static napi_value decode(napi_env env, napi_callback_info info) {
  napi_value values[2];
  napi_value result;
  leaf_error* error = NULL;
  leaf_decoded decoded;
  int64_t id;
  if (!arguments(env, info, 2, values)) return NULL;
  handle* const of = handle_of(env, values[0], OF_LAYOUT);
  if (of == NULL || !int64_of(env, values[1], &id)) return NULL;
  if (leaf_decode(of->leaf.layout, id, &decoded, &error) != LEAF_OK) return error_throw(env, error);
  if (FAILS(napi_create_object(env, &result)) || !set_number(env, result, "unixMs", decoded.unix_ms) ||
      !set_bigint(env, result, "worker", decoded.worker) ||
      !set_bigint(env, result, "sequence", decoded.sequence))
    return NULL;
  return result;
}

static napi_value encode(napi_env env, napi_callback_info info) {
  napi_value values[4];
  napi_value result;
  leaf_error* error = NULL;
  leaf_decoded decoded;
  int64_t id;
  if (!arguments(env, info, 4, values)) return NULL;
  handle* const of = handle_of(env, values[0], OF_LAYOUT);
  if (of == NULL || !int64_of(env, values[1], &decoded.unix_ms) ||
      !int64_of(env, values[2], &decoded.worker) || !int64_of(env, values[3], &decoded.sequence))
    return NULL;
  if (leaf_encode(of->leaf.layout, &decoded, &id, &error) != LEAF_OK) return error_throw(env, error);
  return FAILS(napi_create_bigint_int64(env, id, &result)) ? NULL : result;
}

static napi_value bounds(napi_env env, napi_callback_info info) {
  napi_value values[3];
  napi_value result;
  leaf_error* error = NULL;
  int64_t from;
  int64_t to;
  int64_t first;
  int64_t last;
  if (!arguments(env, info, 3, values)) return NULL;
  handle* const of = handle_of(env, values[0], OF_LAYOUT);
  if (of == NULL || !int64_of(env, values[1], &from) || !int64_of(env, values[2], &to)) return NULL;
  if (leaf_bounds(of->leaf.layout, from, to, &first, &last, &error) != LEAF_OK)
    return error_throw(env, error);
  if (FAILS(napi_create_object(env, &result)) || !set_bigint(env, result, "first", first) ||
      !set_bigint(env, result, "last", last))
    return NULL;
  return result;
}

bool define_layout(napi_env env, napi_value exports) {
  return define(env, exports, "parseLayout", parse_layout) &&
         define(env, exports, "layoutText", layout_text) && define(env, exports, "decode", decode) &&
         define(env, exports, "encode", encode) && define(env, exports, "bounds", bounds);
}
