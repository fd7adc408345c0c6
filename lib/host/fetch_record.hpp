#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "host/shared_state.hpp"
#include "leaf/clock.hpp"
#include "leaf/error.hpp"

namespace leaf::host {

// How the fetching goes, which the processes of a host tell each other through FetchRecord. `clock` is the
// host's.

/// Whether the buffer wants its next range, and nobody has promised to fetch it or waits for the end of a
/// pause.
bool is_fetch_due(const SharedState& state, Clock& clock);
/// The same, and then this process has promised to fetch: for a second nobody else is told that a fetch is
/// due.
bool claim_fetch(SharedState& state, Clock& clock);
/// False while all wait for the end of a pause. A failure that waiting does not cure is looked at anew by
/// whoever needs the range: somebody may have mended it.
bool may_try(const FetchRecord& record, Clock& clock);

// The rest under the lock.

/// This process has taken the lock, for `at_most` that long.
void note_fetcher(SharedState& state, std::chrono::milliseconds at_most, Clock& clock);
/// That `granted` IDs are to be put into the buffer. Returns whether it had failed before.
bool note_success(SharedState& state, std::uint64_t granted, Clock& clock);
/// Returns whether it is another failure than the last one.
bool note_failure(SharedState& state, const Error& error, Clock& clock);

// Of others, who wait for the lock.

/// Whether whoever holds it may be waiting for the store still, and has not stopped.
bool may_be_fetching(const SharedState& state, Clock& clock);

// What a caller is told who has waited in vain.

/// The last failure, unless a range came after it.
std::optional<Error> last_failure(const SharedState& state);
/// What to do about whoever took the lock last.
std::string who_fetches(const SharedState& state);

}  // namespace leaf::host
