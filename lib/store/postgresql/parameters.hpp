#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "store/connection.hpp"

namespace leaf::store::postgresql {

/// Parameters as libpq takes them. The texts among them are borrowed.
class Parameters {
 public:
  explicit Parameters(std::span<const Value> parameters) {
    numbers_.reserve(parameters.size());
    for (const Value& value : parameters) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        values_.push_back(numbers_.emplace_back(std::to_string(*number)).c_str());
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        values_.push_back(text->c_str());
      } else {
        values_.push_back(nullptr);
      }
    }
  }

  const std::vector<const char*>& texts() const noexcept { return values_; }

 private:
  std::vector<std::string> numbers_;
  std::vector<const char*> values_;
};

}  // namespace leaf::store::postgresql
