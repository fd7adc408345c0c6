#pragma once

#include <optional>
#include <string>

#include "layout/positions.hpp"
#include "simulation/ledger.hpp"
#include "simulation/world.hpp"

namespace leaf::simulation {

/// Says which buffer of `host` holds what is not written down beside it as granted: whoever goes on once the
/// process that put it there has died would not know of it. `positions` are those of all snowflakes.
std::optional<std::string> unrecorded(const Host& host, const layout::Positions& positions);

/// As if a new file had held a range in each generation but the last ones, and been closed since.
void grow_old(const Inode& file, Random& random);

/// Tells what lies in its buffers of tags.
void note_published(const Host& host, Ledger& ledger);

/// What the host goes by from now on. Says if it went by the answer to a later question before, or had
/// learned already that the name leads elsewhere: what is connected from before does not lead it back.
std::optional<std::string> note_belief(Host& host);

/// A file has been locked, or is about to lose its name to who calls this, if it notes where a store's name
/// leads: then that one has compared its own answer meanwhile. The latter says if it has not locked it.
void note_locked_answer(Inode& file);
std::optional<std::string> note_replaced_answer(const Inode& file);
/// Says if what `last`, which ran last, has noted since is the answer to an earlier question.
std::optional<std::string> note_answers(Host& host, const Fiber* last);

}  // namespace leaf::simulation
