#pragma once

// Included after one of the relacy_*.hpp, which say what Relacy is to take the place of.
#include <doctest/doctest.h>

#include <cstdint>
#include <iostream>

/// Looks at that many random schedules of a model, and tells what led to a failure.
template <class Model>
void require_safe(const char* name, std::uint64_t schedules) {
  std::ostream nowhere(nullptr);
  rl::test_params params;
  params.iteration_count = static_cast<rl::iteration_t>(schedules);
  params.output_stream = &std::cerr;
  params.progress_stream = &nowhere;
  CHECK(rl::simulate<Model>(params));
  std::cout << "figure: models/" << name << " " << schedules << " random schedules\n";
}
