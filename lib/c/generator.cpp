#include "c/handle.hpp"
#include "c/layout.hpp"
#include "leaf/leaf.h"
#include "leaf/snowflake.hpp"
#include "text/hint.hpp"

using leaf::operator""_hint;
using leaf::SnowflakeGenerator;

struct leaf_generator {
  explicit leaf_generator(Settings said) : settings(std::move(said)) {}

  SnowflakeGenerator make() const {
    leaf::SnowflakeOptions options;
    options.worker.owner = settings.worker_name;
    options.worker.worker = settings.worker;
    options.worker.layout = settings.layout;
    options.timeout = settings.timeout;
    options.host = settings.host;
    return SnowflakeGenerator(settings.store_of_this_process(), options);
  }
  SnowflakeGenerator& get() {
    return generator.get([this] {
      if (!settings.host && generator.is_parents())
        throw leaf::Error(leaf::ErrorCode::failed,
                          "the worker of this generator is held by the process that was forked",
                          "open the generator after the fork, or use the host's buffer"_hint);
      return make();
    });
  }

  const Settings settings;
  PerProcess<SnowflakeGenerator> generator;
};

leaf_generator* leaf_generator_prepare(const leaf_options* options, leaf_error** error) {
  return made(error, [&] { return std::make_unique<leaf_generator>(leaf::c::settings_of(options)); });
}

leaf_generator* leaf_generator_open(const leaf_options* options, leaf_error** error) {
  return made(error, [&] {
    auto generator = std::make_unique<leaf_generator>(leaf::c::settings_of(options));
    generator->get();
    return generator;
  });
}

void leaf_generator_close(leaf_generator* generator) {
  delete generator;
}

leaf_status leaf_generator_next(leaf_generator* generator, int64_t* id, leaf_error** error) {
  return guarded(error, [&] { *id = generator->get().next(); });
}

int leaf_generator_try_next(leaf_generator* generator, int64_t* id) {
  SnowflakeGenerator* const here = generator->generator.find();
  return here != nullptr && here->try_next(*id) ? 1 : 0;
}

leaf_status leaf_generator_fill(leaf_generator* generator, int64_t* ids, size_t count, leaf_error** error) {
  return guarded(error, [&] { generator->get().next(std::span(ids, count)); });
}

leaf_status leaf_generator_worker(leaf_generator* generator, int64_t* worker, leaf_error** error) {
  return guarded(error, [&] { *worker = generator->get().worker(); });
}

leaf_layout* leaf_generator_layout(leaf_generator* generator, leaf_error** error) {
  return made(error, [&] { return std::make_unique<leaf_layout>(generator->get().layout()); });
}
