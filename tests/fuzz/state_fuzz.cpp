// The files that a host's processes share, with any bytes in them: what they hold is used up from where it
// was, or thrown away, or refused; no ID comes twice, before one that came, or from outside of what was
// granted.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "fuzz/store_user.hpp"
#include "host/hash.hpp"
#include "host/shared_state.hpp"
#include "leaf/host.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "support/sqlite_store.hpp"

namespace fs = std::filesystem;

namespace {

using leaf::fuzz::Choices;
using leaf::fuzz::require;
using leaf::host::FileHeader;
using leaf::host::SharedState;

const leaf::TagName order("order");

class Host {
 public:
  Host() {
    leaf::Store admin(options());
    leaf::test::add_tag(admin, "order", 10);
  }

  void remove() {
    std::error_code ignored;
    fs::remove_all(home_.path(), ignored);
    fs::remove_all(fs::path(store_.path()).parent_path(), ignored);
  }

  /// False where that is refused.
  bool draw(bool snowflakes, std::uint64_t count) {
    try {
      if (snowflakes) {
        draw_snowflakes(count);
      } else {
        draw_ids(count);
      }
      return true;
    } catch (const leaf::Error& error) {
      // A file that says the clock or the store has gone back is believed; one that is not whole is not.
      require(error.code() == leaf::ErrorCode::refused || error.code() == leaf::ErrorCode::unavailable ||
                  error.code() == leaf::ErrorCode::failed || error.code() == leaf::ErrorCode::exhausted,
              "what a file says is refused, no mistake of the user's", error.what());
      return false;
    }
  }

  void look() const {
    static_cast<void>(leaf::host_buffers(host_options()));
    static_cast<void>(leaf::lost_host_marks(host_options()));
    static_cast<void>(leaf::why_no_host_marks(host_options()));
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    if (!fs::exists(run_)) return files;
    for (const auto& entry : fs::directory_iterator(run_)) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  }
  void clear() const { fs::remove_all(run_); }
  void wait(std::chrono::milliseconds time) { clock_.advance(time); }

 private:
  leaf::StoreOptions options() {
    leaf::StoreOptions options = store_.options();
    options.clock = &clock_;
    return options;
  }
  leaf::HostOptions host_options() const { return {.folder = run_.string(), .fetch_ahead = false}; }

  void draw_ids(std::uint64_t count) {
    leaf::SegmentAllocator allocator(options(),
                                     {.timeout = std::chrono::milliseconds(100), .host = host_options()});
    leaf::SegmentTag tag = allocator.tag(order);
    for (const leaf::Range range : tag.next_ranges(count)) {
      require(range.lo > last_, "no ID comes again, or before one that came");
      last_ = range.hi - 1;
    }
    require(last_ < leaf::Store(options()).tag(order).next_id, "each ID was granted");
    if (count % 2 == 0) tag.fetch();
  }

  void draw_snowflakes(std::uint64_t count) {
    leaf::SnowflakeOptions wanted;
    wanted.worker.owner = "fuzzer";
    wanted.timeout = std::chrono::milliseconds(100);
    wanted.host = host_options();
    leaf::SnowflakeGenerator generator(options(), wanted);
    leaf::Store admin(options());
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::int64_t id = generator.next();
      require(id > last_snowflake_, "no snowflake comes again, or before one that came");
      last_snowflake_ = id;
      const leaf::DecodedId parts = generator.layout().decompose(id);
      const auto workers = admin.workers();
      require(std::ranges::any_of(workers,
                                  [&](const leaf::Worker& worker) {
                                    return worker.id == parts.worker && parts.time < worker.window_end;
                                  }),
              "the time of each was leased");
    }
    if (count % 2 == 0) generator.fetch();
  }

  leaf::test::SqliteStore store_{"/dev/shm"};
  leaf::test::TemporaryFolder home_{"/dev/shm"};
  fs::path run_ = home_.path() / "run";
  leaf::fuzz::PassingClock clock_;
  std::int64_t last_ = 0;
  std::int64_t last_snowflake_ = -1;
};

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Into the file that is there, which stays the same inode.
void overwrite(const fs::path& path, const std::string& bytes) {
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << bytes;
}

/// As one who can compute a header's checksum: that of the ranges is all that is left to tell.
void mend_header(std::string& bytes) {
  if (bytes.size() < sizeof(FileHeader)) return;
  const std::uint64_t sum = leaf::host::Hash().add({bytes.data(), offsetof(FileHeader, checksum)}).value();
  std::memcpy(bytes.data() + offsetof(FileHeader, checksum), &sum, sizeof sum);
}

/// Where the cursor is noted: together with the cursor itself it may say anything.
bool is_noted_cursor(std::size_t place) {
  return place >= offsetof(SharedState, buffer) + 8 && place < offsetof(SharedState, buffer) + 16;
}

void damage(Choices& choices, const fs::path& path) {
  std::string bytes = content_of(path);
  if (bytes.empty()) return;
  const std::size_t way = choices.below(8);
  if (way == 0) {
    const std::string text = choices.text(200) + '\xA5';
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = text[i % text.size()];
    return overwrite(path, bytes);
  }
  if (way == 1) return fs::resize_file(path, choices.below(256) * 32);
  if (way == 2) {  // a copy, which is another inode
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    return fs::permissions(path, fs::perms(0600));
  }
  for (std::size_t i = 1 + choices.below(8); i > 0; --i) {
    const std::size_t place = (choices.below(256) * 256 + choices.below(256)) % sizeof(SharedState);
    const auto change = choices.byte();
    if (!is_noted_cursor(place))
      bytes[place] = static_cast<char>(static_cast<unsigned char>(bytes[place]) ^ change);
  }
  if (way == 3) mend_header(bytes);
  overwrite(path, bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Host& host = *new Host;
  static const bool is_removed_at_end = std::atexit([] { host.remove(); }) == 0;
  static_cast<void>(is_removed_at_end);
  Choices choices(data, size);
  const bool snowflakes = choices.flag();
  host.wait(std::chrono::hours(1));
  require(host.draw(snowflakes, 1 + choices.below(16)), "an undamaged host draws");
  for (int round = 0; round < 3 && choices.are_left(); ++round) {
    const auto files = host.files();
    if (files.empty()) break;
    damage(choices, files[choices.below(files.size())]);
    if (choices.flag()) host.look();
    bool is_served = true;
    for (int i = 0; i < 3; ++i) is_served = host.draw(snowflakes, 1 + choices.below(16)) && is_served;
    if (!is_served) break;
  }
  // Without the files all goes on.
  host.clear();
  host.wait(std::chrono::hours(1));
  require(host.draw(snowflakes, 1), "a host that has lost its files draws");
  host.clear();
  return 0;
}
