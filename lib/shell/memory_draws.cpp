#include "shell/memory_draws.hpp"

#include <charconv>
#include <utility>

#include "leaf/error.hpp"

namespace leaf::shell {

namespace {

/// Thrown where a call would wait, and before a store is asked.
struct WouldWait {};

/// A clock for those who do not wait: whoever does reads first when to stop.
class ImpatientClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() override { return real().now(); }
  std::int64_t tick() override { return real().tick(); }
  std::chrono::steady_clock::time_point steady_now() override { throw WouldWait(); }
  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&,
                  std::chrono::steady_clock::time_point) override {
    throw WouldWait();
  }
  void sleep_for(std::chrono::nanoseconds) override { throw WouldWait(); }
};

Clock& impatient_clock() {
  static ImpatientClock& clock = *new ImpatientClock;  // never destroyed: the shell may draw in an EXIT trap
  return clock;
}

/// Runs `draw`; false where it would wait, or fails: leafctl does or says what is to be done then.
template <class Draw>
bool from_memory(const Draw& draw) {
  try {
    return draw();
  } catch (const WouldWait&) {
    return false;
  } catch (const Error&) {
    return false;
  }
}

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

MemoryDraws::MemoryDraws(std::function<std::optional<std::string>(const char*)> variable)
    : usual_layout_(Layout::parse("leaf")) {
  Environment environment = Environment::of_this_process();
  environment.variable = std::move(variable);
  const HostConfiguration configuration = HostConfiguration::read(environment);
  const auto said = [&](const char* name, std::string_view key) {
    return configuration.find(environment, name, key);
  };
  const HostDefaults defaults = host_defaults(configuration, {}, environment);
  store_ = defaults.store.text;
  // Without the system's file another store could be taken for the one that is meant.
  if (!configuration.unread_file()) host_ = defaults.buffers();
  if (host_) host_->fetch_ahead = false;

  const auto form = said("LEAFCTL_OUTPUT", "output");
  has_output_form_ = form && form->text != "text";
  if (const auto layout = said("LEAFCTL_LAYOUT", "layout")) layout_ = Layout::parse(layout->text);
  const auto name = said("LEAFCTL_WORKER_NAME", "worker_name");
  worker_name_ = name ? name->text : worker_name_of_host(environment);
  // What only leafctl reads is left to it.
  knows_worker_ = !said("LEAFCTL_MAX_BACKWARD", "max_backward");
  if (const auto pinned = said("LEAFCTL_WORKER_ID", "worker_id")) {
    worker_ = number_of(pinned->text);
    knows_worker_ = knows_worker_ && worker_;
  }
}

/// With a timeout of zero a new handle asks nothing either.
StoreOptions MemoryDraws::store_options() const {
  return {.url = store_, .timeout = std::chrono::milliseconds::zero(), .clock = &impatient_clock()};
}

/// Null if the store has to be asked where it leads.
SegmentTag* MemoryDraws::find_tag(std::string_view tag) {
  if (const auto known = tags_.find(tag); known != tags_.end()) return &known->second;
  const HighDescriptors high;
  if (!allocator_) {
    allocator_.emplace(store_options(),
                       SegmentOptions{.timeout = std::chrono::milliseconds::zero(), .host = host_});
  }
  SegmentTag handle = allocator_->tag(TagName(tag));
  if (handle.is_check_due()) return nullptr;
  descriptors_.note();
  return &tags_.emplace(tag, handle).first->second;
}

bool MemoryDraws::draw_of_tag(std::string_view tag, std::span<std::int64_t> ids) {
  if (!host_) return false;
  return from_memory([&] {
    SegmentTag* const handle = find_tag(tag);
    // Who draws while a fetch is due sees to it.
    if (handle == nullptr || handle->is_fetch_due()) return false;
    for (std::int64_t& id : ids) {
      if (!handle->try_next(id)) return false;
    }
    return true;
  });
}

SnowflakeGenerator* MemoryDraws::find_generator() {
  if (generator_) return &*generator_;
  const HighDescriptors high;
  SnowflakeOptions options;
  options.timeout = std::chrono::milliseconds::zero();
  options.host = host_;
  options.worker.owner = worker_name_;
  options.worker.worker = worker_;
  options.worker.layout = layout_;
  SnowflakeGenerator& generator = generator_.emplace(store_options(), options);
  if (generator.is_check_due()) return nullptr;
  descriptors_.note();
  return &generator;
}

bool MemoryDraws::draw_snowflakes(std::span<std::int64_t> ids) {
  if (!host_ || !knows_worker_) return false;
  return from_memory([&] {
    SnowflakeGenerator* const generator = find_generator();
    if (generator == nullptr || generator->is_fetch_due()) return false;
    generator->next(ids);
    return true;
  });
}

}  // namespace leaf::shell
