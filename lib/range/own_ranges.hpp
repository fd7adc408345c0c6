#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "range/fetcher.hpp"
#include "range/range_source.hpp"
#include "range/store_changes.hpp"

namespace leaf::range {

/// Ranges in this process's own memory, fetched in the background by `fetcher`: a buffer for each store that
/// the name has led to, so that what is left there is not lost when it leads back.
class OwnRanges final : public RangeSource {
 public:
  OwnRanges(std::unique_ptr<const Granter> granter, const StoreOptions& store, Fetcher& fetcher);

  GrantRecord record() const override;
  std::string origin() const override;
  /// The store whose ranges are drawn, or will be once it has granted some; empty before the first grant.
  StoreIdentity granted_by() const override;

  std::uint64_t store_changes() const noexcept override { return changes_.count(); }

  void await(const std::function<bool()>& ready, CallDeadline& deadline) override {
    fetcher_.await(*this, ready, deadline);
  }
  void request_fetch() override { fetcher_.request(*this); }
  void fetch() override;
  void fetch(Store& store, bool is_awaited) override;
  /// True twice a minute, while IDs are drawn.
  bool check() override;
  /// Draws from what `store` has granted, if that is another one now.
  void check_name(Store& store) override;

 private:
  struct OfStore {
    DoubleBuffer buffer;
    Filled last{buffer};
  };

  void fetch_locked(Store& store, const DoubleBuffer& seen);
  Filled last() const;
  /// Before `store` is asked: another connection may have told since that the name leads elsewhere.
  void connect(Store& store) const;
  // The rest with stores_mutex_ held.
  OfStore& of(const StoreIdentity& store);
  void go_to(OfStore& next);

  const StoreOptions store_options_;
  Fetcher& fetcher_;
  mutable StoreChanges changes_;
  std::mutex fetch_mutex_;

  mutable std::mutex stores_mutex_;
  std::list<OfStore> stores_{1};  ///< the first stands for no store: nothing was granted yet
  OfStore* current_ = &stores_.front();
  std::string origin_;      ///< of the last grant
  bool has_moved_ = false;  ///< by a check, since the last fetch

  // Of check() alone.
  std::pair<const DoubleBuffer*, std::uint64_t> checked_word_;
  std::chrono::steady_clock::time_point checked_at_{};
};

}  // namespace leaf::range
