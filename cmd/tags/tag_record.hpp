#pragma once

#include <string>

#include "leaf/tag.hpp"
#include "terminal/output.hpp"

namespace leafctl {

/// When somebody added or changed it last. A store whose clock is ahead never says that it will be.
TimeFromNow updated(const leaf::Tag& tag);

/// When it was granted from last; nothing if it never was.
Cell granted(const leaf::Tag& tag);

/// How a tag is printed, by whatever command.
inline constexpr Column<leaf::Tag> tag_columns[] = {
    {"tag", [](const leaf::Tag& tag) -> Cell { return tag.name; }},
    {"next_id", [](const leaf::Tag& tag) -> Cell { return Id{tag.next_id}; }},
    {"step", [](const leaf::Tag& tag) -> Cell { return Count{tag.step}; }},
    {"limit", [](const leaf::Tag& tag) -> Cell { return tag.limit ? Cell(Id{*tag.limit}) : Cell(); }},
    {"updated", [](const leaf::Tag& tag) -> Cell { return updated(tag); }},
    {"granted", [](const leaf::Tag& tag) -> Cell { return granted(tag); }},
    {"description", [](const leaf::Tag& tag) -> Cell { return Remark{tag.description}; }},
};

/// False for a name that a command would refuse: none to propose.
bool is_tag_name(const std::string& name);

/// What a tag is set to, for a message: "next ID 1, step 1000, limit 99".
std::string describe(const leaf::Tag& tag, const char* name_of_next = "next ID");

}  // namespace leafctl
