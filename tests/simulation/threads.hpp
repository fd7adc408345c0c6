#pragma once

#include "simulation/actors.hpp"

namespace leaf::simulation {

/// A program of several threads that share one allocator or one generator. Each draws in its own way, and
/// some never wait. It looks at how long calls take, whether those who only try are served, and what is lost.
void run_threads(const Place& place, Process& process, ActorKind kind);
void run_window_threads(const Place& place, Process& process, ActorKind kind);
/// A program of one thread that knows how its clock is set: which of its calls succeed, and how soon.
void run_clock_user(const Place& place, Process& process);
/// A program of one thread that knows when the store is away: how soon IDs come again, and what is lost.
void run_outage_user(const Place& place, Process& process);
/// A program that shares windows with others, which are stopped while they fetch: how soon IDs come.
void run_window_holder(const Place& place, Process& process);
/// The same of IDs of a tag, of which it wants more at once than are left.
void run_segment_holder(const Place& place, Process& process);

/// Whether all that have run on the host let those who fetch be long enough at it, however slow the store is.
bool are_patient(const Place& place);

/// What the host was granted of each tag and nobody drew lies in its buffer, unless somebody crashed. Says
/// what is lost; empty: nothing.
std::string lost_of_host(const Place& place);

}  // namespace leaf::simulation
