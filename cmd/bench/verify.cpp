#include "bench/verify.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

constexpr std::size_t first_word_at = 4096;

[[noreturn]] void fail() {
  throw leaf::Error(leaf::ErrorCode::failed,
                    fmt::format("no memory to check IDs in: {}", std::strerror(errno)),
                    "leave '--verify' out, or allow more memory, see 'ulimit -v'"_hint);
}

}  // namespace

SeenIds::SeenIds() : file_(memfd_create("leafctl-seen-ids", MFD_CLOEXEC)) {
  if (file_ == -1) fail();
}

SeenIds::~SeenIds() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_size_);
  close(file_);
}

void SeenIds::cover(leaf::Range ids) {
  const std::uint64_t words = ids.size() / 64 + 1;
  if (ftruncate(file_, static_cast<off_t>(first_word_at + words * sizeof *words_)) != 0) fail();
  if (pwrite(file_, &ids, sizeof ids, 0) != static_cast<ssize_t>(sizeof ids)) fail();
}

void SeenIds::open() {
  if (pread(file_, &ids_, sizeof ids_, 0) != static_cast<ssize_t>(sizeof ids_)) fail();
  mapped_size_ = static_cast<std::size_t>(lseek(file_, 0, SEEK_END));
  void* const mapping =
      mmap(nullptr, mapped_size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (mapping == MAP_FAILED) fail();
  mapping_ = mapping;
  // The file's zeros are words that hold 0.
  words_ = reinterpret_cast<std::atomic<std::uint64_t>*>(static_cast<char*>(mapping) + first_word_at);
}

std::string Violation::text() const {
  switch (kind) {
    case Kind::repeated:
      return fmt::format("ID {} was drawn twice", id);
    case Kind::not_above:
      return fmt::format("ID {} came after ID {}", id, bound);
    case Kind::too_low:
      break;
  }
  return fmt::format("ID {} is below {}, where the run began", id, bound);
}

void Violations::add(const Violation& violation) noexcept {
  if (count_ < first_.size()) first_[count_] = violation;
  ++count_;
}

void Violations::merge(const Violations& other) noexcept {
  const std::uint64_t sum = count_ + other.count_;
  for (const Violation& violation : other.first()) add(violation);
  count_ = sum;
}

std::span<const Violation> Violations::first() const noexcept {
  return std::span(first_).first(std::min<std::size_t>(count_, first_.size()));
}

void IdCheck::check(std::int64_t floor, std::int64_t id, Violations& violations) {
  check_one(floor, id, violations);
  note_newest(id);
}

void IdCheck::check(std::int64_t floor, std::span<const std::int64_t> ids, Violations& violations) {
  for (const std::int64_t id : ids) {
    check_one(floor, id, violations);
    floor = id;
  }
  if (!ids.empty()) note_newest(floor);
}

void IdCheck::check(std::int64_t floor, leaf::Range ids, Violations& violations) {
  for (std::int64_t id = ids.lo; id < ids.hi; ++id) {
    check_one(floor, id, violations);
    floor = id;
  }
  if (!ids.empty()) note_newest(floor);
}

void IdCheck::check_one(std::int64_t floor, std::int64_t id, Violations& violations) {
  if (id <= floor) violations.add({Violation::Kind::not_above, id, floor});
  if (id < seen_.covered().lo) {
    violations.add({Violation::Kind::too_low, id, seen_.covered().lo});
    return;
  }
  if (id >= seen_.covered().hi) {
    throw leaf::Error(
        leaf::ErrorCode::failed,
        fmt::format("ID {} is past {}, the last that '--verify' has room for", id, seen_.covered().hi - 1),
        "run for a shorter time"_hint);
  }
  if (!seen_.insert(id)) violations.add({Violation::Kind::repeated, id});
}

void IdCheck::note_newest(std::int64_t id) noexcept {
  std::int64_t newest = newest_.load(std::memory_order_relaxed);
  while (newest < id && !newest_.compare_exchange_weak(newest, id, std::memory_order_release)) {
  }
}

}  // namespace leafctl
