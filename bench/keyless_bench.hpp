// `garuda bench keyless`: joins without keys of synthetic tables, and the comparisons a second that they come to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/gpu/contest.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"

namespace garuda::bench {

/// What rows match by: left.a is drawn from all of int32 that is not negative, left.x is the row; right.lo likewise,
/// right.hi as much more that a left row has about one match, right.y the row.
enum class KeylessCondition : std::uint8_t {
  less,  ///< left.a < right.lo: half of all pairs, one comparison each
  band,  ///< left.a >= right.lo and left.a <= right.hi: about one pair a left row, two comparisons each
};
/// Errors: usage.
Result<KeylessCondition> parse_keyless_condition(std::string_view text);

struct KeylessRequest : Sampling {
  std::uint64_t rows_left = 0;
  std::uint64_t rows_right = 0;
  KeylessCondition condition = KeylessCondition::band;
  bool rows = false;  ///< makes the rows; else counts them
  Path path = Path::automatic;
  std::string tuning;
  std::optional<std::string> device;
  std::uint32_t threads = 0;  ///< 0: all
};

/// Joins once and compares the result with what sorted columns say, then `repeat` times under the clock, from the call
/// to the last batch; notes say how many pairs of rows a second that are, of the whole time and of phase `count` alone,
/// which is the device's where it has a clock. Blocks. Errors: usage; those of Engine::join; device_failure when the
/// result differs.
Result<Outcome> run_keyless_bench(KeylessRequest const& request);

}  // namespace garuda::bench
