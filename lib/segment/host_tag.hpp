#pragma once

#include "host/shared_buffer.hpp"
#include "segment/segment_fetch.hpp"
#include "segment/tag_source.hpp"

namespace leaf::segment {

/// One tag in the memory that all processes of a host share.
class HostTag final : public TagSource, public host::SharedBuffer {
 public:
  /// `refiller` fetches in the background; null: the embedding program does. Throws Error as SharedBuffer's
  /// constructor.
  HostTag(const StoreOptions& store, const HostOptions& host, const TagName& tag, std::int64_t max_step,
          std::chrono::milliseconds timeout, range::Refiller* refiller);

  Range take(std::uint64_t at_most) override;
  /// What is not buffered is granted in one piece, where it is more than a fetch would bring.
  std::vector<Range> take_all(std::uint64_t count) override;
  void request_fetch() override;
  std::int64_t limit() override;
  std::int64_t left() override;
  bool claim_fetch() override { return SharedBuffer::claim_fetch(); }
  void fetch() override { SharedBuffer::fetch(); }
  using SharedBuffer::fetch;

 private:
  host::GrantedRange grant(Store& store, host::StateFile& file) override;
  void note_granted(host::State& state) override;
  Error counting_what_is_buffered(const Error& exhausted);
  void fetch_before_taking(std::uint64_t count);
  bool is_more_than_a_fetch_brings(std::uint64_t count);
  std::vector<Range> take_in_one_piece(std::uint64_t count);
  std::vector<Range> take_from_one_store(std::uint64_t count);

  const std::int64_t max_step_;
  range::Refiller* const refiller_;

  // Of the last grant().
  StepHistory history_;
  Grant granted_;
};

}  // namespace leaf::segment
