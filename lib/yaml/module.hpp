#pragma once

#include "leaf/detail/yaml.hpp"

namespace leaf::yaml {

/// What the module exports as `leaf_yaml_module`.
struct Module {
  const char* built_with;  ///< the version of libleaf
  detail::YamlParser parse;
};

}  // namespace leaf::yaml
