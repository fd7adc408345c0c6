#include "host/store_pool.hpp"

#include <utility>

#include "host/fetch_lock.hpp"
#include "store/fork_generation.hpp"

namespace leaf::host {

StorePool::Borrowed::Borrowed(StorePool& pool, std::unique_ptr<Store> store)
    : pool_(pool), store_(std::move(store)), process_(store::fork_generation()) {}

StorePool::Borrowed::~Borrowed() {
  if (!store_) return;
  if (process_ == store::fork_generation()) {
    pool_.give_back(std::move(store_));
  } else {
    static_cast<void>(store_.release());  // the parent's
  }
}

StorePool::StorePool(StoreOptions store, std::size_t most_idle)
    : store_options_(std::move(store)), most_idle_(most_idle), process_(store::fork_generation()) {
  idle_.reserve(most_idle_);  // to take one back needs no memory
}

StorePool::~StorePool() {
  if (process_ != store::fork_generation()) leave_to_parent();
}

void StorePool::leave_to_parent() noexcept {
  for (std::unique_ptr<Store>& store : idle_) static_cast<void>(store.release());
  idle_.clear();
}

StorePool::Borrowed StorePool::borrow(std::chrono::milliseconds timeout,
                                      std::chrono::steady_clock::time_point latest) {
  std::unique_ptr<Store> store;
  {
    const NoFork no_fork;
    if (process_ != store::fork_generation()) {
      leave_to_parent();
      process_ = store::fork_generation();
    }
    if (!idle_.empty()) {
      store = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!store) store = std::make_unique<Store>(store_options_);
  store->set_timeout(timeout, latest);
  return {*this, std::move(store)};
}

void StorePool::give_back(std::unique_ptr<Store> store) noexcept {
  const NoFork no_fork;
  // Else it is closed once the lock is gone.
  if (idle_.size() < most_idle_) idle_.push_back(std::move(store));
}

}  // namespace leaf::host
