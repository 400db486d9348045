// One run's report of several: sums are added, greatest values stay greatest values.
#include "operators/run/query_run.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace garuda::run {
namespace {

TEST(RunRecorder, AbsorbsSumsAndGreatestValues) {
  RunRecorder all;
  all.add_counter("rows", 1);
  for (std::uint64_t const longest : {70U, 90U, 80U}) {
    RunRecorder one;
    one.add_counter("rows", 10);
    one.max_counter("longest", longest);
    one.max_counter("longest", longest - 5);
    one.note("the same");
    all.absorb(one);
  }
  EXPECT_EQ(all.counters(), (std::vector<std::pair<std::string, std::uint64_t>>{{"longest", 90}, {"rows", 31}}));
  EXPECT_EQ(all.notes(), std::vector<std::string>{"the same"});
}

}  // namespace
}  // namespace garuda::run
