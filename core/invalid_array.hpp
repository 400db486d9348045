// The error for an array that breaks Arrow's rules.
#pragma once

#include <string>
#include <utility>

#include "garuda/error.hpp"

namespace garuda {

inline tl::unexpected<Error> invalid_array(std::string message) {
  return fail(ErrorCode::invalid_input, std::move(message));
}

}  // namespace garuda
