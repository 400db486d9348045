#include "bench/parts/bare_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace garuda::bench {
namespace {

Result<void> verify(calibrate::PointDraw& draw, std::vector<std::uint32_t> const& pixels) {
  GARUDA_TRY(draw.run());
  GARUDA_TRY_ASSIGN(auto const drawn, draw.read_image());
  auto const expected = calibrate::expected_image(draw.image(), pixels);
  auto const [found, wanted] = std::mismatch(drawn.begin(), drawn.end(), expected.begin(), expected.end());
  if (found == drawn.end()) return {};
  auto const words = calibrate::words_per_pixel(draw.image().target);
  auto const position = static_cast<std::uint64_t>(found - drawn.begin());
  return fail(ErrorCode::device_failure,
              fmt::format("pixel {} of the drawn image differs from the expectation in word {}, {:#x}: {:#x}",
                          position / words, position % words, *wanted, *found));
}

}  // namespace

std::uint64_t point_bytes(calibrate::PointImage const& image, std::uint64_t points) noexcept {
  return points * sizeof(std::uint32_t) * (1 + calibrate::words_per_pixel(image.target));
}

Result<std::unique_ptr<BareDraws>> BareDraws::create(std::string_view device, std::span<FloorPass const> passes) {
  std::unique_ptr<BareDraws> draws(new BareDraws);
  GARUDA_TRY_ASSIGN(draws->opened_, open_lane(device, "bench draws"));
  for (auto const& pass : passes) {
    GARUDA_TRY_ASSIGN(auto draw, calibrate::PointDraw::create(*draws->opened_.lane, *draws->opened_.pipelines,
                                                              pass.image, pass.pixels));
    draws->passes_.push_back({pass.name, std::move(draw)});
    GARUDA_TRY(verify(draws->passes_.back().draw, pass.pixels));
  }
  return draws;
}

Result<Sample> BareDraws::run() {
  Sample sample;
  for (auto& pass : passes_) {
    GARUDA_TRY_ASSIGN(auto const ns, pass.draw.run());
    sample.ns += ns;
    auto phase = std::ranges::find(sample.phases, pass.name, &PhaseStats::name);
    if (phase == sample.phases.end()) phase = sample.phases.insert(phase, PhaseStats{pass.name, 0, 0, 0});
    phase->ns += ns;
    phase->bytes += point_bytes(pass.draw.image(), pass.draw.num_rows());
    phase->items += pass.draw.num_rows();
  }
  return sample;
}

std::uint64_t BareDraws::bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (auto const& pass : passes_) bytes += point_bytes(pass.draw.image(), pass.draw.num_rows());
  return bytes;
}

}  // namespace garuda::bench
