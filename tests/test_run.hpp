// The cases that this process's run of the tests takes, by the environment that ctest gives it
// (cmake/GarudaTests.cmake).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "garuda/plan.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::testing {

/// Whether the environment has `variable` with this value.
inline bool variable_is(char const* variable, std::string_view value) {
  auto const* const text = std::getenv(variable);
  return text != nullptr && text == value;
}

/// Whether this is the entry of `name`: lavapipe, swiftshader, cuda, nodevice, …
inline bool is_driver(std::string_view name) { return variable_is("GARUDA_TEST_DRIVER", name); }

/// Whether this entry shows another device's limits on lavapipe (tests/device_profiles).
inline bool is_profile() { return std::getenv("GARUDA_TEST_PROFILE") != nullptr; }

/// Whether lavapipe's entry of the suite takes more than this one: SwiftShader's, and those of profiles.
inline bool is_further_driver() { return is_driver("swiftshader") || is_profile(); }

/// Whether GARUDA_TEST_FULL asks for every case.
inline bool full_tests() { return variable_is("GARUDA_TEST_FULL", "1"); }

/// Whether tests run under the validation layer. Not in sanitizer builds but for full runs: the release build validates
/// the same calls.
inline bool with_validation() { return full_tests() || !variable_is("GARUDA_TEST_VALIDATION", "0"); }

/// Whether lavapipe's entry of the suite has run what needs no device, so that further drivers' need not; not in full
/// runs.
inline bool host_runs_elsewhere() { return is_further_driver() && !full_tests(); }

/// Most rows a side that cases may have in this run: GARUDA_TEST_MAX_ROWS, or no bound. Throws std::runtime_error when
/// the variable is not a number.
inline std::uint64_t max_test_rows() {
  auto const* const text = std::getenv("GARUDA_TEST_MAX_ROWS");
  if (text == nullptr) return std::numeric_limits<std::uint64_t>::max();
  std::size_t length = 0;
  auto const rows = std::stoull(text, &length);
  if (text[length] != '\0') throw std::runtime_error("GARUDA_TEST_MAX_ROWS is not a number: " + std::string(text));
  return rows;
}

/// Whether a sanitizer, which makes a case ten times as long, bounds the rows of this run.
inline bool is_bounded() { return max_test_rows() != std::numeric_limits<std::uint64_t>::max(); }

/// Whether this run takes case `index` of a cross product: every one with full_tests(), and where the cases cost little
/// (no software driver); otherwise lavapipe takes a fifth, SwiftShader, which takes three to five times as long, and
/// profiles an eighth of another third, and a run under a sanitizer a fifteenth.
inline bool takes_case(std::uint64_t index) {
  if (full_tests()) return true;
  // Mixed, so that the turns keep no step with the lengths of the axes.
  auto const turn = keys::mix(index) >> 32;
  if (is_bounded()) return turn % 15 == 0;
  if (is_driver("lavapipe")) return turn % 5 == 0;
  if (is_further_driver()) return turn % 24 == 1;
  return true;
}

/// Whether this run takes case `index` of those that no device runs: under a sanitizer, which takes thirty times as
/// long, every fourth.
inline bool takes_host_case(std::uint64_t index) {
  return full_tests() || !is_bounded() || (keys::mix(index) >> 32) % 4 == 0;
}

/// Whether this run takes case `index` of a list of large ones that are alike: every second one but in full runs.
inline bool takes_every_second(std::uint64_t index) { return full_tests() || index % 2 == 0; }

/// Whether this run takes a case that costs much wherever it runs: further drivers and sanitizers do in full runs only.
inline bool takes_large_case() { return full_tests() || (!is_bounded() && !is_further_driver()); }

/// Whether this run takes case `index` of those that each compile pipelines of their own: further drivers and
/// sanitizers every third one.
inline bool takes_compiled_case(std::uint64_t index) { return takes_large_case() || index % 3 == 0; }

/// How many random cases a path takes: the CPU path `on_host`, another one `on_device`, a further driver a third of
/// these, a run under a sanitizer a third of either; in full runs ten times as many.
inline std::uint64_t random_cases(Path path, std::uint64_t on_host, std::uint64_t on_device) {
  if (full_tests()) return 10 * (path == Path::cpu ? on_host : on_device);
  auto const cases = path == Path::cpu ? on_host : is_further_driver() ? on_device / 3 : on_device;
  return is_bounded() ? cases / 3 : cases;
}

/// The first seed of random cases, each a function of its own: GARUDA_TEST_SEED; else the usual tests take `usual`, the
/// full ones a new one. Printed before anything can crash.
inline std::uint64_t first_seed(std::uint64_t usual) {
  auto const* const asked = std::getenv("GARUDA_TEST_SEED");
  auto const seed = asked != nullptr ? std::strtoull(asked, nullptr, 10)
                    : full_tests()   ? std::random_device{}()
                                     : usual;
  std::cout << "GARUDA_TEST_SEED=" << seed << std::endl;
  return seed;
}

}  // namespace garuda::testing
