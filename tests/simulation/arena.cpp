#include "simulation/arena.hpp"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "simulation/scheduler.hpp"

namespace leaf::simulation {

const Fiber* finds_no_memory = nullptr;

namespace {

/// Reserved, not used: a history takes a few megabytes.
constexpr std::size_t room = std::size_t{1} << 32;
constexpr std::size_t granule = 16;
constexpr std::size_t longest_small = 1024;
constexpr std::size_t small_classes = longest_small / granule + 1;

/// In front of each piece, in the arena and outside.
struct alignas(granule) Header {
  std::uint32_t size_class;
  std::uint32_t offset;  ///< of the piece, from where the block begins
  std::uint64_t is_in_arena;
};
struct Free {
  Free* next;
};

std::byte* begin = nullptr;
std::byte* next = nullptr;
bool in_use = false;
/// Small sizes by granules, then powers of two.
std::array<Free*, small_classes + 40> free_blocks{};

std::size_t class_of(std::size_t size) {
  if (size <= longest_small) return (size + granule - 1) / granule;
  return small_classes + static_cast<std::size_t>(std::bit_width(size - 1));
}
std::size_t size_of(std::size_t size_class) {
  return size_class < small_classes ? size_class * granule : std::size_t{1} << (size_class - small_classes);
}

void* block_of(std::size_t size_class) {
  if (Free* const found = free_blocks[size_class]) {
    free_blocks[size_class] = found->next;
    return found;
  }
  void* const block = next;
  next += size_of(size_class);
  if (next > begin + room) std::abort();
  return block;
}

void refuse_once() {
  if (!Scheduler::in_thread() || &Scheduler::the().running() != finds_no_memory) return;
  finds_no_memory = nullptr;
  throw std::bad_alloc();
}

void* take(std::size_t size, std::size_t alignment) {
  if (finds_no_memory != nullptr && in_use) [[unlikely]]
    refuse_once();
  const std::size_t padding = alignment > granule ? alignment : 0;
  const std::size_t whole = size + sizeof(Header) + padding;
  Header header{.size_class = 0, .offset = 0, .is_in_arena = in_use ? 1U : 0U};
  std::byte* block;
  if (in_use) {
    header.size_class = static_cast<std::uint32_t>(class_of(whole));
    block = static_cast<std::byte*>(block_of(header.size_class));
  } else {
    block = static_cast<std::byte*>(std::malloc(whole));
    if (block == nullptr) throw std::bad_alloc();
  }
  std::byte* piece = block + sizeof(Header);
  if (padding != 0) {
    const auto misfit = reinterpret_cast<std::uintptr_t>(piece) % alignment;
    if (misfit != 0) piece += alignment - misfit;
  }
  header.offset = static_cast<std::uint32_t>(piece - block);
  std::memcpy(piece - sizeof(Header), &header, sizeof header);
  return piece;
}

void give_back(void* pointer) noexcept {
  if (pointer == nullptr) return;
  auto* const piece = static_cast<std::byte*>(pointer);
  Header header;
  std::memcpy(&header, piece - sizeof(Header), sizeof header);
  std::byte* const block = piece - header.offset;
  if (header.is_in_arena == 0) {
    std::free(block);
  } else if (in_use) {
    free_blocks[header.size_class] = new (block) Free{free_blocks[header.size_class]};
  }
}

}  // namespace

Arena::Arena() {
  if (begin == nullptr) {
    void* const memory =
        mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin = static_cast<std::byte*>(memory);
  }
  next = begin;
  free_blocks.fill(nullptr);
  in_use = true;
}

Arena::~Arena() {
  in_use = false;
}

Arena::Pause::Pause() : was_in_use_(in_use) {
  in_use = false;
}

Arena::Pause::~Pause() {
  in_use = was_in_use_;
}

}  // namespace leaf::simulation

using leaf::simulation::give_back;
using leaf::simulation::take;

void* operator new(std::size_t size) {
  return take(size, 0);
}
void* operator new[](std::size_t size) {
  return take(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer) noexcept {
  give_back(pointer);
}
void operator delete[](void* pointer) noexcept {
  give_back(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept {
  give_back(pointer);
}
void operator delete[](void* pointer, std::size_t) noexcept {
  give_back(pointer);
}
void operator delete(void* pointer, std::align_val_t) noexcept {
  give_back(pointer);
}
void operator delete[](void* pointer, std::align_val_t) noexcept {
  give_back(pointer);
}
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept {
  give_back(pointer);
}
void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept {
  give_back(pointer);
}
