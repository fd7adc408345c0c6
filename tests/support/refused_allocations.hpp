#pragma once

namespace leaf::test {

/// Has the next `count` allocations of C++ fail, in all threads but the one that calls first. For a whole
/// program: its `new` is replaced.
void refuse_allocations(int count);

/// How many of them have not come yet.
int allocations_to_refuse();

/// Has the `nth` allocation of C++ from now on fail, in this thread alone; 0: none of those to come.
void refuse_nth_allocation(int nth);

/// Whether the last one that was to fail has failed.
bool was_nth_allocation_refused();

}  // namespace leaf::test
