#include "options.hpp"

namespace leafctl {

namespace {

/// The name that errors speak of: the first of `names`.
std::string first_name(const std::string& names) {
  return names.substr(0, names.find(','));
}

template <class Convert>
CLI::Option* add_converted(CLI::App& app, const std::string& names, const std::string& help,
                           Convert convert) {
  const CLI::callback_t callback = [convert](const CLI::results_t& texts) {
    convert(texts.front());
    return true;
  };
  return app.add_option(names, callback, help);
}

}  // namespace

CLI::Option* add_text_option(CLI::App& app, const std::string& names, const std::string& value_name,
                             std::optional<std::string>& target, const std::string& help) {
  return add_converted(app, names, help, [&target](const std::string& text) { target = text; })
      ->type_name(value_name);
}

CLI::Option* add_integer_option(CLI::App& app, const std::string& names, const std::string& value_name,
                                std::optional<std::int64_t>& target, IntegerBounds bounds,
                                const std::string& help) {
  return add_converted(app, names, help,
                       [&target, bounds, name = first_name(names)](const std::string& text) {
                         target = parse_integer(name, text, bounds);
                       })
      ->type_name(value_name);
}

CLI::Option* add_tag_argument(CLI::App& app, std::optional<leaf::TagName>& target, const std::string& help) {
  return add_converted(app, "TAG", help, [&target](const std::string& text) { target.emplace(text); })
      ->required();
}

}  // namespace leafctl
