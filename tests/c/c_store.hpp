#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "leaf/leaf.h"
#include "leaf/store.hpp"
#include "support/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace leaf::test {

/// A store, and a folder for the host's buffers, as C programs open them.
struct CStore {
  struct Close {
    void operator()(leaf_allocator* allocator) const { leaf_allocator_close(allocator); }
    void operator()(leaf_tag* tag) const { leaf_tag_close(tag); }
    void operator()(leaf_generator* generator) const { leaf_generator_close(generator); }
    void operator()(leaf_store* store) const { leaf_store_close(store); }
    void operator()(leaf_tag_list* list) const { leaf_tag_list_free(list); }
    void operator()(leaf_layout* layout) const { leaf_layout_free(layout); }
  };
  using Allocator = std::unique_ptr<leaf_allocator, Close>;
  using Tag = std::unique_ptr<leaf_tag, Close>;
  using Generator = std::unique_ptr<leaf_generator, Close>;
  using TagList = std::unique_ptr<leaf_tag_list, Close>;

  leaf_options options() const {
    leaf_options result{};
    result.size = sizeof result;
    result.use_host_defaults = LEAF_NO;
    result.store = url.c_str();
    result.runtime_dir = run.c_str();
    result.worker_name = "here";
    result.timeout_ms = 60'000;  // only ends a test that fails
    return result;
  }
  leaf_options options_of_one_process() const {
    leaf_options result = options();
    result.runtime_dir = nullptr;
    return result;
  }

  Allocator allocator() const { return allocator(options()); }
  static Allocator allocator(const leaf_options& options) {
    Allocator result(leaf_allocator_open(&options, nullptr));
    REQUIRE(result != nullptr);
    return result;
  }
  static Tag tag(const Allocator& allocator, const char* name) {
    Tag result(leaf_allocator_tag(allocator.get(), name, nullptr));
    REQUIRE(result != nullptr);
    return result;
  }
  Generator generator() const { return generator(options()); }
  static Generator generator(const leaf_options& options) {
    Generator result(leaf_generator_open(&options, nullptr));
    REQUIRE(result != nullptr);
    return result;
  }

  SqliteStore file;
  Store admin = file.open();
  TemporaryFolder home;
  std::string url = file.options().url;
  std::string run = (home.path() / "run").string();
};

/// Takes the errors of calls, and frees them.
class Failure {
 public:
  Failure() = default;
  ~Failure() { leaf_error_free(error_); }
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;

  leaf_error** place() {
    leaf_error_free(error_);
    error_ = nullptr;
    return &error_;
  }
  leaf_status status() const { return error_ == nullptr ? LEAF_OK : leaf_error_status(error_); }
  std::string text() const { return error_ == nullptr ? "" : leaf_error_text(error_); }
  std::string hint() const { return error_ == nullptr ? "" : leaf_error_hint(error_); }
  bool is_retryable() const { return error_ != nullptr && leaf_error_is_retryable(error_) != 0; }

 private:
  leaf_error* error_ = nullptr;
};

}  // namespace leaf::test
