#include "leaf/error.hpp"

#include <utility>

namespace leaf {

Error::Error(ErrorCode code, const std::string& what, Advice advice, std::string sqlstate)
    : std::runtime_error(what), code_(code), advice_(std::move(advice)), sqlstate_(std::move(sqlstate)) {}
Error::~Error() = default;
Error::Error(const Error&) = default;
Error& Error::operator=(const Error&) = default;

}  // namespace leaf
