#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "leaf/store.hpp"

namespace leaf::host {

/// Connections that several ranges share, so that there are not as many as tags. Who borrows one has it
/// alone.
///
/// Thread safe: NoFork guards it. After fork() the child goes on with connections of its own.
class StorePool {
 public:
  /// `most_idle`: more than these are closed when they come back.
  StorePool(StoreOptions store, std::size_t most_idle);
  ~StorePool();
  StorePool(const StorePool&) = delete;
  StorePool& operator=(const StorePool&) = delete;

  /// A store that goes back to its pool, which has to outlive it.
  class Borrowed {
   public:
    Borrowed(StorePool& pool, std::unique_ptr<Store> store);
    ~Borrowed();
    Borrowed(Borrowed&& from) = default;
    Borrowed& operator=(Borrowed&&) = delete;

    Store& operator*() const noexcept { return *store_; }

   private:
    StorePool& pool_;
    std::unique_ptr<Store> store_;
    unsigned process_;  ///< that borrowed it, by its fork_generation()
  };

  /// `timeout`: of each of its calls; none goes on after `latest`.
  Borrowed borrow(std::chrono::milliseconds timeout, std::chrono::steady_clock::time_point latest);

 private:
  void leave_to_parent() noexcept;
  void give_back(std::unique_ptr<Store> store) noexcept;

  const StoreOptions store_options_;
  const std::size_t most_idle_;
  std::vector<std::unique_ptr<Store>> idle_;
  unsigned process_;  ///< whose connections they are, by its fork_generation()
};

}  // namespace leaf::host
