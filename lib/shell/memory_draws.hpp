#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "leaf/host_defaults.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "shell/high_descriptors.hpp"

namespace leaf::shell {

/// What one environment and working folder lead to: this host's buffers, mapped. Draws what lies there and
/// never waits nor asks a store, so that the shell has no connection, no thread and no lock. A draw that
/// returns false is leafctl's to do; the object is of no use any more then. IDs may be lost with it, and are
/// never drawn again. Also for children of the shell, which inherit it.
class MemoryDraws {
 public:
  /// `variable` is asked for those of the environment, and only by this constructor. Throws Error where
  /// leafctl would refuse the configuration.
  explicit MemoryDraws(std::function<std::optional<std::string>(const char*)> variable);
  MemoryDraws(const MemoryDraws&) = delete;
  MemoryDraws& operator=(const MemoryDraws&) = delete;

  /// False if a script has closed or replaced a file of this object, which is not to be destroyed then.
  bool has_its_files() const { return descriptors_.are_untouched(); }

  /// True if IDs are to be printed in another form than plain text.
  bool has_output_form() const noexcept { return has_output_form_; }
  bool draw_of_tag(std::string_view tag, std::span<std::int64_t> ids);
  bool draw_snowflakes(std::span<std::int64_t> ids);
  /// The layout that IDs are decoded by.
  const Layout& layout() const noexcept { return layout_ ? *layout_ : usual_layout_; }

 private:
  StoreOptions store_options() const;
  SegmentTag* find_tag(std::string_view tag);
  SnowflakeGenerator* find_generator();

  bool has_output_form_ = false;
  std::string store_;
  std::optional<HostOptions> host_;
  std::string worker_name_;
  std::optional<std::int64_t> worker_;
  bool knows_worker_ = true;
  std::optional<Layout> layout_;
  Layout usual_layout_;

  OwnDescriptors descriptors_;
  std::optional<SegmentAllocator> allocator_;
  std::map<std::string, SegmentTag, std::less<>> tags_;
  std::optional<SnowflakeGenerator> generator_;
};

}  // namespace leaf::shell
