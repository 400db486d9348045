// `garuda bench points`: the raster floor, bare draws without a join around them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/gpu/contest.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Which pixel each row is drawn at.
enum class PointOrder : std::uint8_t {
  random,  ///< independent uniform draws: as statistics and build passes of hashed or shuffled keys
  pixel,   ///< row i at pixel i, starting over at the end of the image: as count and probe passes
};
/// Errors: usage.
Result<PointOrder> parse_point_order(std::string_view text);

enum class PointBlend : std::uint8_t {
  none,  ///< overwrite R32G32_UINT
  add,   ///< add to R32_SFLOAT
};
/// Errors: usage.
Result<PointBlend> parse_point_blend(std::string_view text);

struct PointsRequest : Sampling {
  std::uint64_t rows = 0;
  std::uint32_t image = 4096;  ///< width and height, a power of two
  PointOrder order = PointOrder::random;
  PointBlend blend = PointBlend::none;
  std::string device = "auto";
};

/// Draws, compares the whole image with what the host expects, then draws `repeat` times more under the clock: op
/// "points", path "graphics", mode "resident", one phase. Blocks.
/// Errors: usage (rows 0 or above 2^32 - 2, image not a power of two, repeat 0); no_device; limit_exceeded;
/// out_of_memory; cancelled; device_failure, also when a pixel differs.
Result<Outcome> run_points_bench(PointsRequest const& request);

}  // namespace garuda::bench
