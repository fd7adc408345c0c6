#include "yaml/module.hpp"

#include "leaf/export.hpp"
#include "leaf/version.hpp"

extern "C" LEAF_EXPORT const leaf::yaml::Module leaf_yaml_module;
const leaf::yaml::Module leaf_yaml_module{LEAF_VERSION, leaf::detail::parse_yaml};
