#pragma once

#include <string>

#include "leaf/layout.hpp"
#include "leaf/leaf.h"

struct leaf_layout {
  explicit leaf_layout(const leaf::Layout& parsed) : layout(parsed), text(parsed.text()) {}

  const leaf::Layout layout;
  const std::string text;
};
