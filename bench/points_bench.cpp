#include "bench/points_bench.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "bench/random.hpp"
#include "bench/row_count.hpp"
#include "bench/vulkan_device.hpp"
#include "garuda/control.hpp"
#include "operators/calibrate/point_draws.hpp"

namespace garuda::bench {
namespace {

std::vector<std::uint32_t> make_pixels(PointsRequest const& request) {
  auto const num_pixels = std::uint64_t{request.image} * request.image;
  std::vector<std::uint32_t> pixels(request.rows);
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, request.rows, 1U << 14), [&](auto const& rows) {
    for (auto row = rows.begin(); row != rows.end(); ++row)
      pixels[row] = static_cast<std::uint32_t>(
          request.order == PointOrder::pixel ? row % num_pixels : RowRandom(request.seed, row).next_below(num_pixels));
  });
  return pixels;
}

Result<void> check(PointsRequest const& request) {
  constexpr std::uint64_t kMaxRows = 0xfffffffe;  // row + 1 is a u32 colour
  if (request.rows == 0 || request.rows > kMaxRows)
    return fail(ErrorCode::usage, fmt::format("--rows out of range [1, 2^32 - 2]: {}", request.rows));
  if (!std::has_single_bit(request.image) || request.image > 32'768)
    return fail(ErrorCode::usage, fmt::format("--image must be a power of two up to 32768: {}", request.image));
  if (request.repeat == 0) return fail(ErrorCode::usage, "--repeat must be at least 1: 0");
  return {};
}

Result<void> verify(calibrate::PointDraw& draw, std::vector<std::uint32_t> const& pixels) {
  GARUDA_TRY(draw.run());
  GARUDA_TRY_ASSIGN(auto const drawn, draw.read_image());
  auto const expected = calibrate::expected_image(draw.image(), pixels);
  auto const [found, wanted] = std::mismatch(drawn.begin(), drawn.end(), expected.begin(), expected.end());
  if (found == drawn.end()) return {};
  auto const words = calibrate::words_per_pixel(draw.image().target);
  auto const position = static_cast<std::uint64_t>(found - drawn.begin());
  return fail(ErrorCode::device_failure,
              fmt::format("pixel {} of the drawn image differs from the expectation in word {}, "
                          "{:#x}: {:#x}",
                          position / words, position % words, *wanted, *found));
}

}  // namespace

Result<PointOrder> parse_point_order(std::string_view text) {
  if (text == "random") return PointOrder::random;
  if (text == "pixel") return PointOrder::pixel;
  return fail(ErrorCode::usage, fmt::format("unknown order (allowed: random, pixel): '{}'", text));
}

std::string_view to_string(PointOrder order) noexcept { return order == PointOrder::random ? "random" : "pixel"; }

Result<PointBlend> parse_point_blend(std::string_view text) {
  if (text == "none") return PointBlend::none;
  if (text == "add") return PointBlend::add;
  return fail(ErrorCode::usage, fmt::format("unknown blend (allowed: none, add): '{}'", text));
}

std::string_view to_string(PointBlend blend) noexcept { return blend == PointBlend::none ? "none" : "add"; }

Result<PointsOutcome> run_points_bench(PointsRequest const& request) {
  GARUDA_TRY(check(request));
  GARUDA_TRY_ASSIGN(auto const opened, open_device(request.device));
  GARUDA_TRY_ASSIGN(auto const pipelines, vk::PipelineStore::create(*opened.device, vk::default_cache_folder()));
  vk::LaneOptions lane_options;
  lane_options.name = "bench points";
  GARUDA_TRY_ASSIGN(auto const lane, vk::Lane::create(*opened.device, lane_options));

  auto const pixels = make_pixels(request);
  calibrate::PointImage const image{
      request.image, request.image,
      request.blend == PointBlend::add ? calibrate::PointTarget::add : calibrate::PointTarget::overwrite_2};
  GARUDA_TRY_ASSIGN(auto draw, calibrate::PointDraw::create(*lane, *pipelines, image, pixels));
  GARUDA_TRY(verify(draw, pixels));
  std::vector<std::uint64_t> samples_ns;
  Control control;
  control.cancelled = request.cancelled;
  for (std::uint32_t i = 0; i < request.repeat; ++i) {
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between draws");
    GARUDA_TRY_ASSIGN(auto const ns, draw.run());
    samples_ns.push_back(ns);
  }

  PointsOutcome outcome;
  auto const bytes_per_point = sizeof(std::uint32_t) * (1 + calibrate::words_per_pixel(image.target));
  auto& record = outcome.record;
  record.op = "points";
  record.path = "graphics";
  record.device = opened.name();
  record.driver = opened.driver();
  record.mode = "resident";
  record.rows = request.rows;
  record.rows_out = request.rows;
  record.time = summarise(samples_ns);
  record.bytes = request.rows * bytes_per_point;
  record.phases = {{"draw", record.time.median_ns, record.bytes, request.rows}};
  record.verified = true;
  outcome.clock =
      lane->timer().source() == vk::ClockSource::device ? "GPU timestamps" : "host time from submission to completion";
  return outcome;
}

}  // namespace garuda::bench
