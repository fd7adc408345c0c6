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

CLI::Option* add_many(CLI::App& app, const std::string& names, const CLI::callback_t& callback,
                      const std::string& help) {
  return app.add_option(names, callback, help)->expected(1, CLI::detail::expected_max_vector_size);
}

}  // namespace

CLI::Option* add_text_option(CLI::App& app, const std::string& names, const std::string& value_name,
                             std::optional<std::string>& target, const std::string& help) {
  return add_converted(app, names, help, [&target](const std::string& text) { target = text; })
      ->type_name(value_name);
}

CLI::Option* add_texts_option(CLI::App& app, const std::string& names, const std::string& value_name,
                              std::vector<std::string>& target, const std::string& help) {
  const CLI::callback_t callback = [&target](const CLI::results_t& texts) {
    target = texts;
    return true;
  };
  return add_many(app, names, callback, help)->type_name(value_name)->allow_extra_args(value_name.empty());
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

CLI::Option* add_worker_argument(CLI::App& app, std::optional<std::int64_t>& target,
                                 const std::string& help) {
  return add_integer_option(app, "ID", "WORKER", target, worker_bounds, help);
}

CLI::Option* add_workers_argument(CLI::App& app, std::vector<std::int64_t>& target, const std::string& help) {
  const CLI::callback_t callback = [&target](const CLI::results_t& texts) {
    for (const std::string& text : texts) target.push_back(parse_integer("ID", text, worker_bounds));
    return true;
  };
  return add_many(app, "ID", callback, help)->type_name("WORKER")->allow_extra_args();
}

CLI::Option* add_tag_argument(CLI::App& app, std::optional<leaf::TagName>& target, const std::string& help) {
  return add_converted(app, "TAG", help, [&target](const std::string& text) { target.emplace(text); })
      ->type_name("TAG")
      ->required();
}

}  // namespace leafctl
