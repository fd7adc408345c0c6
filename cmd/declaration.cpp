#include "declaration.hpp"

#include <CLI/CLI.hpp>

#include "settings.hpp"

namespace leafctl {

namespace {

/// The name that errors speak of: the first of `names`.
std::string first_name(const std::string& names) {
  return names.substr(0, names.find(','));
}

template <class Convert>
CLI::Option* add_converted(CLI::App& app, const std::string& names, const std::string& value_name,
                           const std::string& help, Convert convert) {
  const CLI::callback_t callback = [convert](const CLI::results_t& texts) {
    convert(texts.front());
    return true;
  };
  return app.add_option(names, callback, help)->type_name(value_name);
}

CLI::Option* add_many(CLI::App& app, const std::string& names, const std::string& value_name,
                      const std::string& help, const CLI::callback_t& callback) {
  return app.add_option(names, callback, help)
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->type_name(value_name);
}

CLI::callback_t keep_in(std::vector<std::string>& target) {
  return [&target](const CLI::results_t& texts) {
    target = texts;
    return true;
  };
}

CLI::Option* add_name_of_tag(CLI::App& app, const std::string& value_name,
                             std::optional<leaf::TagName>& target, const std::string& help) {
  return add_converted(app, "TAG", value_name, help,
                       [&target](const std::string& text) { target.emplace(text); });
}

}  // namespace

bool Declaration::leaves_out(const std::string& names, Presence presence) const {
  return extent_ == Extent::arguments && names.starts_with('-') && presence == Presence::optional;
}

void Declaration::describe(const std::string& text) {
  if (extent_ == Extent::all) app_.description(text);
}

void Declaration::add_examples(const std::string& text) {
  if (extent_ == Extent::all) app_.footer(text);
}

void Declaration::add_flag(const std::string& names, bool& target, const std::string& help) {
  if (!leaves_out(names)) app_.add_flag(names, target, help);
}

void Declaration::add_text_option(const std::string& names, const std::string& value_name,
                                  std::optional<std::string>& target, const std::string& help,
                                  Presence presence) {
  if (leaves_out(names, presence)) return;
  add_converted(app_, names, value_name, help, [&target](const std::string& text) {
    target = text;
  })->required(presence == Presence::required);
}

void Declaration::add_texts_option(const std::string& names, const std::string& value_name,
                                   std::vector<std::string>& target, const std::string& help) {
  if (!leaves_out(names)) add_many(app_, names, value_name, help, keep_in(target))->allow_extra_args(false);
}

void Declaration::add_texts_argument(const std::string& name, const std::string& value_name,
                                     std::vector<std::string>& target, const std::string& help) {
  add_many(app_, name, value_name, help, keep_in(target))->allow_extra_args();
}

void Declaration::add_integer_option(const std::string& names, const std::string& value_name,
                                     std::optional<std::int64_t>& target, IntegerBounds bounds,
                                     const std::string& help) {
  if (leaves_out(names)) return;
  add_converted(app_, names, value_name, help,
                [&target, bounds, name = first_name(names)](const std::string& text) {
                  target = parse_integer(name, text, bounds);
                });
}

void Declaration::add_worker_argument(std::optional<std::int64_t>& target, const std::string& help) {
  add_integer_option("ID", "WORKER", target, worker_bounds, help);
}

void Declaration::add_workers_argument(std::vector<std::int64_t>& target, const std::string& help) {
  const CLI::callback_t callback = [&target](const CLI::results_t& texts) {
    for (const std::string& text : texts) target.push_back(parse_integer("ID", text, worker_bounds));
    return true;
  };
  add_many(app_, "ID", "WORKER", help, callback)->allow_extra_args();
}

void Declaration::add_tag_argument(std::optional<leaf::TagName>& target, const std::string& help,
                                   Presence presence) {
  add_name_of_tag(app_, "TAG", target, help)->required(presence == Presence::required);
}

void Declaration::add_new_tag_argument(std::optional<leaf::TagName>& target, const std::string& help) {
  add_name_of_tag(app_, "NAME", target, help)->required();
}

void Declaration::add_setting(std::string_view key, std::optional<std::string>& target) {
  const Setting& setting = all_settings()[find_setting(key).value()];
  if (setting.flag_stands_for == nullptr) {
    add_text_option(setting.flags, setting.value_name, target, setting.help);
  } else if (!leaves_out(setting.flags)) {
    app_.add_flag_callback(
        setting.flags, [&target, &setting] { target = setting.flag_stands_for; }, setting.help);
  }
}

}  // namespace leafctl
