#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "range/fetcher.hpp"
#include "range/range_source.hpp"
#include "range/store_changes.hpp"

namespace leaf::range {

/// Ranges in this process's own memory, fetched in the background by `fetcher`.
class OwnRanges final : public RangeSource {
 public:
  OwnRanges(std::unique_ptr<const Granter> granter, const StoreOptions& store, Fetcher& fetcher);

  GrantRecord record() const override;
  std::string origin() const override;
  /// The store that granted what is buffered; empty if nothing was.
  StoreIdentity granted_by() const override;

  std::uint64_t store_changes() const noexcept override { return changes_.count(); }

  void await(const std::function<bool()>& ready) override { fetcher_.await(*this, ready); }
  void request_fetch() override { fetcher_.request(*this); }
  void fetch() override;
  void fetch(Store& store) override;
  /// True twice a minute, while IDs are drawn.
  bool check() override;
  /// Gives up what is buffered if the store's name leads to another one now.
  void check_name(Store& store) override;

 protected:
  std::uint64_t moves() const noexcept override { return changes_.count(); }

 private:
  void fetch_locked(Store& store);
  bool has_ranges_of_another(const StoreIdentity& store, const std::string& origin) const;
  /// Gives up what another store, or another tag of the name, has granted.
  void drain();

  const StoreOptions store_options_;
  Fetcher& fetcher_;
  DoubleBuffer own_buffer_;
  mutable StoreChanges changes_;
  std::mutex fetch_mutex_;

  mutable std::mutex last_mutex_;
  Filled last_{own_buffer_};

  // Of check() alone.
  std::uint64_t checked_word_ = 0;
  std::chrono::steady_clock::time_point checked_at_{};
};

}  // namespace leaf::range
