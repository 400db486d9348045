// Results that a test counts on.
#pragma once

#include <stdexcept>
#include <utility>

#include "garuda/error.hpp"

namespace garuda::testing {

/// The value; throws the error's description.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().describe());
  return std::move(*result);
}
inline void succeed(Result<void> const& result) {
  if (!result) throw std::runtime_error(result.error().describe());
}

}  // namespace garuda::testing
