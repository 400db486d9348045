// Whether the tests of this process run under Vulkan's validation layer.
#pragma once

#include <cstdlib>
#include <string_view>

namespace garuda::testing {

/// True but where GARUDA_TEST_VALIDATION is "0" (sanitizer builds: the release build validates the same calls) and no
/// full run (GARUDA_TEST_FULL) is asked for.
inline bool with_validation() {
  auto const is = [](char const* variable, std::string_view value) {
    auto const* const text = std::getenv(variable);
    return text != nullptr && text == value;
  };
  return is("GARUDA_TEST_FULL", "1") || !is("GARUDA_TEST_VALIDATION", "0");
}

}  // namespace garuda::testing
