#include "garuda/error.hpp"

#include <fmt/format.h>

namespace garuda {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::invalid_input:
      return "invalid_input";
    case ErrorCode::no_device:
      return "no_device";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::limit_exceeded:
      return "limit_exceeded";
    case ErrorCode::output:
      return "output";
    case ErrorCode::device_failure:
      return "device_failure";
    case ErrorCode::cancelled:
      return "cancelled";
  }
  return "unknown";
}

Error Error::wrap(std::string message) && {
  Error outer(code_, std::move(message));
  outer.causes_.reserve(causes_.size() + 1);
  outer.causes_.push_back(std::move(message_));
  for (auto& cause : causes_) outer.causes_.push_back(std::move(cause));
  return outer;
}

std::string Error::describe() const {
  std::string text = message_;
  for (auto const& cause : causes_) text += ": " + cause;
  return text;
}

void throw_logic_error(char const* condition, char const* file, int line) {
  throw LogicError(fmt::format("precondition failed: {} ({}:{})", condition, file, line));
}

}  // namespace garuda
