// Writes at the end of a suite on a device how long the longest of its submissions were, and their phases, into the
// file that GARUDA_TEST_SUBMISSIONS names: tests/longest_submissions.py makes the table of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "vk_runtime/device/device.hpp"

namespace {

class WritesLongest final : public testing::EmptyTestEventListener {
  void OnTestProgramEnd(testing::UnitTest const&) override {
    char const* const file = std::getenv("GARUDA_TEST_SUBMISSIONS");
    if (file == nullptr) return;
    auto const longest = garuda::vk::longest_submissions();
    std::ofstream out(file);
    for (auto const& one : {longest.usual, longest.compiling}) out << one.ns << ' ' << one.phases << '\n';
  }
};

// Google Test owns its listeners.
[[maybe_unused]] auto const* const appended = [] {
  auto* const listener = new WritesLongest;
  testing::UnitTest::GetInstance()->listeners().Append(listener);
  return listener;
}();

}  // namespace
