/* A C program beside leafctl: draws an ID of the tag in its first argument, or a snowflake for --snowflake,
 * as libleaf says that programs of this host do. A second argument names the store. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "leaf/leaf.h"

static int fail(leaf_error* error) {
  int status = (int)leaf_error_status(error);
  fprintf(stderr, "%s\nhint: %s\n", leaf_error_text(error), leaf_error_hint(error));
  leaf_error_free(error);
  return status;
}

static int draw_snowflake(const leaf_options* options) {
  leaf_error* error = NULL;
  int64_t id;
  int status = 0;
  leaf_generator* generator = leaf_generator_open(options, &error);
  if (generator != NULL && leaf_generator_next(generator, &id, &error) == LEAF_OK)
    printf("%" PRId64 "\n", id);
  else
    status = fail(error);
  leaf_generator_close(generator);
  return status;
}

static int draw(const leaf_options* options, const char* name) {
  leaf_error* error = NULL;
  leaf_tag* tag;
  int64_t id;
  int status = 0;
  leaf_allocator* allocator = leaf_allocator_open(options, &error);
  if (allocator == NULL) return fail(error);
  tag = leaf_allocator_tag(allocator, name, &error);
  if (tag != NULL && leaf_tag_next(tag, &id, &error) == LEAF_OK)
    printf("%" PRId64 "\n", id);
  else
    status = fail(error);
  leaf_tag_close(tag);
  leaf_allocator_close(allocator);
  return status;
}

int main(int argc, char** argv) {
  leaf_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  if (argc < 2) return 2;
  if (argc > 2) options.store = argv[2];
  return strcmp(argv[1], "--snowflake") == 0 ? draw_snowflake(&options) : draw(&options, argv[1]);
}
