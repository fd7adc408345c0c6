/* What mixed_storm.hpp asks of a program, in C; its handles are opened before it forks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leaf/leaf.h"

static int fail(leaf_error* error) {
  puts(leaf_error_text(error));
  leaf_error_free(error);
  return 1;
}

static int serve(leaf_tag* tag, leaf_generator* generator) {
  int count;
  while (scanf("%d", &count) == 1) {
    for (int i = 0; i < count; ++i) {
      leaf_error* error = NULL;
      int64_t id;
      if (leaf_tag_try_next(tag, &id) == 0 && leaf_tag_next(tag, &id, &error) != LEAF_OK) return fail(error);
      printf("t%" PRId64 "\n", id);
      if (i % 4 != 0) continue;
      if (leaf_generator_try_next(generator, &id) == 0 && leaf_generator_next(generator, &id, &error) != LEAF_OK)
        return fail(error);
      printf("s%" PRId64 "\n", id);
    }
    puts(".");
    fflush(stdout);
  }
  return 0;
}

int main(void) {
  leaf_error* error = NULL;
  leaf_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.worker_name = "storm";
  leaf_allocator* allocator = leaf_allocator_open(&options, &error);
  if (allocator == NULL) return fail(error);
  leaf_tag* tag = leaf_allocator_tag(allocator, "storm", &error);
  if (tag == NULL) return fail(error);
  leaf_generator* generator = leaf_generator_open(&options, &error);
  if (generator == NULL) return fail(error);
  pid_t child = fork();
  if (child == 0) return serve(tag, generator);
  int status = 1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
