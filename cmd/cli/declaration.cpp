#include "cli/declaration.hpp"

#include <CLI/CLI.hpp>

#include "leaf/detail/yes_no.hpp"
#include "settings/settings.hpp"

namespace leafctl {

namespace {

/// The name that errors speak of: the first of `names`.
std::string first_name(std::string_view names) {
  return std::string(names.substr(0, names.find(',')));
}

template <class Convert>
CLI::Option* add_converted(CLI::App& app, std::string_view names, std::string_view value_name,
                           std::string_view help, Convert convert) {
  const CLI::callback_t callback = [convert](const CLI::results_t& texts) {
    convert(texts.front());
    return true;
  };
  return app.add_option(std::string(names), callback, std::string(help))->type_name(std::string(value_name));
}

CLI::Option* add_many(CLI::App& app, std::string_view names, std::string_view value_name,
                      std::string_view help, const CLI::callback_t& callback) {
  return app.add_option(std::string(names), callback, std::string(help))
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->type_name(std::string(value_name));
}

CLI::callback_t keep_in(std::vector<std::string>& target) {
  return [&target](const CLI::results_t& texts) {
    target = texts;
    return true;
  };
}

CLI::Option* add_name_of_tag(CLI::App& app, std::string_view value_name, std::optional<leaf::TagName>& target,
                             std::string_view help) {
  return add_converted(app, "TAG", value_name, help,
                       [&target](const std::string& text) { target.emplace(text); });
}

}  // namespace

bool Declaration::leaves_out(std::string_view names, Presence presence) const {
  return extent_ == Extent::arguments && names.starts_with('-') && presence == Presence::optional;
}

void Declaration::describe(std::string_view text) {
  if (extent_ == Extent::all) app_.description(std::string(text));
}

void Declaration::add_examples(std::string_view text) {
  if (extent_ == Extent::all) app_.footer(std::string(text));
}

void Declaration::add_flag(std::string_view names, bool& target, std::string_view help) {
  if (!leaves_out(names)) app_.add_flag(std::string(names), target, std::string(help));
}

void Declaration::add_text_option(std::string_view names, std::string_view value_name,
                                  std::optional<std::string>& target, std::string_view help,
                                  Presence presence) {
  if (leaves_out(names, presence)) return;
  add_converted(app_, names, value_name, help, [&target](const std::string& text) {
    target = text;
  })->required(presence == Presence::required);
}

void Declaration::add_text_option_or_flag(std::string_view names, std::string_view value_name,
                                          std::optional<std::string>& target, std::string_view help) {
  if (leaves_out(names)) return;
  add_converted(app_, names, value_name, help, [&target](const std::string& text) {
    target = text;
  })->expected(0, 1);
}

void Declaration::add_texts_option(std::string_view names, std::string_view value_name,
                                   std::vector<std::string>& target, std::string_view help) {
  if (!leaves_out(names)) add_many(app_, names, value_name, help, keep_in(target))->allow_extra_args(false);
}

void Declaration::add_texts_argument(std::string_view name, std::string_view value_name,
                                     std::vector<std::string>& target, std::string_view help) {
  add_many(app_, name, value_name, help, keep_in(target))->allow_extra_args();
}

void Declaration::add_integer_option(std::string_view names, std::string_view value_name,
                                     std::optional<std::int64_t>& target, IntegerBounds bounds,
                                     std::string_view help) {
  if (leaves_out(names)) return;
  add_converted(app_, names, value_name, help,
                [&target, bounds, name = first_name(names)](const std::string& text) {
                  target = parse_integer(name, text, bounds);
                });
}

void Declaration::add_worker_argument(std::optional<std::int64_t>& target, std::string_view help) {
  add_integer_option("WORKER", "WORKER", target, worker_bounds, help);
}

void Declaration::add_workers_argument(std::vector<std::int64_t>& target, std::string_view help) {
  const CLI::callback_t callback = [&target](const CLI::results_t& texts) {
    for (const std::string& text : texts) target.push_back(parse_integer("WORKER", text, worker_bounds));
    return true;
  };
  add_many(app_, "WORKER", "WORKER", help, callback)->allow_extra_args();
}

void Declaration::add_tag_argument(std::optional<leaf::TagName>& target, std::string_view help,
                                   Presence presence) {
  add_name_of_tag(app_, "TAG", target, help)->required(presence == Presence::required);
}

void Declaration::add_new_tag_argument(std::optional<leaf::TagName>& target, std::string_view help) {
  add_name_of_tag(app_, "NAME", target, help)->required();
}

void Declaration::add_setting(std::string_view key, std::optional<std::string>& target) {
  const Setting& setting = all_settings()[find_setting(key).value()];
  if (setting.flag_stands_for == nullptr) {
    add_text_option(setting.flags, setting.value_name, target, setting.help);
  } else if (!leaves_out(setting.flags)) {
    const CLI::callback_t callback = [&target, &setting](const CLI::results_t& texts) {
      const bool turned_round = !leaf::detail::parse_yes_no(setting.long_flag(), texts.front());
      target =
          leaf::detail::parse_yes_no(setting.key, setting.flag_stands_for) != turned_round ? "yes" : "no";
      return true;
    };
    // A value of its own only behind '=': the next word may be an argument.
    app_.add_option(setting.flags, callback, setting.help)->expected(0);
  }
}

}  // namespace leafctl
