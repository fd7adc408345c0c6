#pragma once

#include <optional>

#include "host/shared_buffer.hpp"
#include "range/refiller.hpp"
#include "snowflake/windows.hpp"

namespace leaf::snowflake {

/// The windows of a worker that all processes of a host make IDs with. Nothing is given back: the next
/// process goes on with them.
class HostWindows final : public Windows, public host::SharedBuffer {
 public:
  /// Leases the first window if none is buffered. Throws Error as SharedBuffer's constructor and await().
  HostWindows(const StoreOptions& store, const HostOptions& host, const WorkerRequest& request,
              std::chrono::milliseconds timeout, const range::Refiller::Options& refiller);

  const layout::Positions& positions() const noexcept override { return *positions_; }
  range::DoubleBuffer& buffer() noexcept override { return SharedBuffer::buffer(); }
  void request() override;
  void await(const std::function<bool()>& ready) override { SharedBuffer::await(ready); }
  bool claim_fetch() override { return SharedBuffer::claim_fetch(); }
  void fetch() override { SharedBuffer::fetch(); }
  using SharedBuffer::fetch;

 private:
  host::GrantedRange grant(Store& store, host::StateFile& file) override;
  void note_granted(host::State& state) override;
  void require_fitting(const host::State& state) const override;
  /// A pinned worker is held until the window of the one who fetches is over.
  bool may_take_over() const override { return !request_.worker; }

  const WorkerRequest request_;
  std::optional<layout::Positions> positions_;
  WorkerLease last_;                         ///< of the last grant()
  std::optional<range::Refiller> refiller_;  ///< ends before the rest goes
};

}  // namespace leaf::snowflake
