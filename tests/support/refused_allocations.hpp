#pragma once

namespace leaf::test {

/// Has the next `count` allocations of C++ fail, in all threads but the one that calls first. For a whole
/// program: its `new` is replaced.
void refuse_allocations(int count);

/// How many of them have not come yet.
int allocations_to_refuse();

}  // namespace leaf::test
