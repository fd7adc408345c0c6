#pragma once

#include <optional>

#include "range/refiller.hpp"
#include "snowflake/windows.hpp"

namespace leaf::snowflake {

/// The windows of one generator, in its own memory. What it has not used it gives back when it ends.
class OwnWindows final : public Windows {
 public:
  /// Leases the first window. Throws Error as Store::acquire_worker().
  OwnWindows(const StoreOptions& store, const WorkerRequest& request, const range::Refiller::Options& options,
             bool release_at_end);
  ~OwnWindows() override;

  const layout::Positions& positions() const noexcept override { return windows_.positions; }
  range::DoubleBuffer& buffer() noexcept override { return windows_.buffer; }
  void request() override { refiller_->request(windows_); }
  void await(const std::function<bool()>& ready) override { refiller_->await(windows_, ready); }

 private:
  class Buffer final : public range::RefilledBuffer {
   public:
    Buffer(Store& store, const WorkerRequest& wanted, Clock& clock);
    range::Refill refill(Store& store) override;
    std::string what() const override { return "window of time"; }

    layout::Positions positions;
    WorkerRequest request;
    WorkerLease lease;
  };

  Store store_;  // for the first lease and the end; the refiller has one of its own
  Buffer windows_;
  std::optional<range::Refiller> refiller_;
  const bool release_at_end_;
};

}  // namespace leaf::snowflake
