#include "bench/parts/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "bench/gpu/resident_path.hpp"
#include "bench/parts/floors.hpp"
#include "bench/parts/vulkan_device.hpp"
#include "bench/workloads/random.hpp"
#include "bench/workloads/table_builder.hpp"
#include "operators/calibrate/point_draws.hpp"
#include "operators/vulkan/pass_context.hpp"

namespace garuda::bench {
namespace {

/// Blending adds floats, which count exactly up to here.
constexpr std::uint32_t kMostExact = 1U << 24;

Result<void> check(HistogramRequest const& request) {
  if (!std::has_single_bit(request.bins) || request.bins > std::uint64_t{1} << 30)
    return fail(ErrorCode::usage, fmt::format("--bins must be a power of two up to 2^30: {}", request.bins));
  if (request.rows == 0 || request.rows >= std::uint64_t{1} << 31)
    return fail(ErrorCode::usage, fmt::format("--rows out of range [1, 2^31 - 1]: {}", request.rows));
  return check(static_cast<Sampling const&>(request));
}

/// The buffers that all paths share, and the measurement of one path with one setting.
class Counts {
 public:
  explicit Counts(HistogramRequest const& request) : request_(request), counts_(request.bins) {}

  Result<void> make() {
    auto const mask = static_cast<std::uint32_t>(request_.bins - 1);
    bins_ = random_words(request_.rows, request_.seed);
    TableBuilder builder(request_.rows);
    GARUDA_TRY(builder.add_column<std::int32_t>(
        "value", [&](std::uint64_t row) { return static_cast<std::int32_t>(bins_[row]); }));
    table_.emplace(builder.finish());
    for (auto& value : bins_) ++counts_[value &= mask];
    return {};
  }

  /// One point a value, at its bin's pixel, added to it.
  Result<Outcome> by_blending() const {
    if (std::ranges::max(counts_) > kMostExact)
      return fail(ErrorCode::usage, "a bin has more than 2^24 values, which blending does not count exactly");
    auto const shape = vulkan::image_for(request_.bins, std::numeric_limits<std::uint32_t>::max());
    calibrate::PointImage const image{shape.width(), shape.height, calibrate::PointTarget::add};
    GARUDA_TRY_ASSIGN(auto const opened, open_lane(request_.device.value_or("auto"), "bench draws"));
    GARUDA_TRY_ASSIGN(auto draw, calibrate::PointDraw::create(*opened.lane, *opened.pipelines, image, bins_));
    GARUDA_TRY(draw.run());
    GARUDA_TRY_ASSIGN(auto drawn, draw.read_image());
    for (auto& word : drawn) word = static_cast<std::uint32_t>(std::bit_cast<float>(word));
    GARUDA_TRY(check_counts(drawn));
    return timed(Path::graphics, opened.name(), opened.driver(),
                 fmt::format("blending into {} x {} R32_SFLOAT", image.width, image.height), [&]() -> Result<Sample> {
                   GARUDA_TRY_ASSIGN(auto const ns, draw.run());
                   return Sample{ns, 0, {{"count", ns, point_bytes(image.target, bins_.size()), bins_.size()}}, {}};
                 });
  }

  Result<void> by_atomics(Path path, std::vector<Outcome>& outcomes) const {
    auto opened = open_resident_paths(std::array{Choice{path, {}}}, request_.device);
    if (!opened[0]) return tl::unexpected(std::move(opened[0]).error());
    auto& resident = **opened[0];
    GARUDA_TRY_ASSIGN(auto const uploaded, resident.upload(*table_, Sharing::own));
    for (auto const& setting : resident.histogram_settings(request_.bins)) {
      GARUDA_TRY_ASSIGN(auto const query, resident.histogram(uploaded, request_.bins, setting));
      GARUDA_TRY(query.prepare());
      GARUDA_TRY_ASSIGN(auto const result, query.download());
      GARUDA_TRY(check_counts({result.batches()[0].columns[0].data<std::uint32_t>(), counts_.size()}));
      GARUDA_TRY_ASSIGN(auto outcome, timed(path, resident.device(), resident.driver(), query.describe(), query.run));
      outcomes.push_back(std::move(outcome));
    }
    return {};
  }

 private:
  /// Compares the counts of all bins; what lies behind them is not looked at.
  Result<void> check_counts(std::span<std::uint32_t const> found) const {
    auto const [wanted, wrong] = std::ranges::mismatch(counts_, found);
    if (wanted == counts_.end()) return {};
    return fail(ErrorCode::device_failure,
                fmt::format("the count of bin {} is wrong, {}: {}", wanted - counts_.begin(), *wanted, *wrong));
  }

  Result<Outcome> timed(Path path, std::string device, std::string driver, std::string setting,
                        std::function<Result<Sample>()> run) const {
    Contender contender;
    auto& record = contender.outcome.record;
    record = resident_record("histogram", path, std::move(device), std::move(driver), request_.rows);
    record.rows_out = request_.bins;
    record.bytes = request_.rows * 4 + request_.bins * 4;
    contender.outcome.notes = {std::move(setting)};
    contender.verify = [](Outcome&) { return Result<void>(); };
    contender.timed.run = std::move(run);
    GARUDA_TRY(measure({&contender, 1}, request_));
    return std::move(contender.outcome);
  }

  HistogramRequest const& request_;
  std::vector<std::uint32_t> bins_;  ///< of each value
  std::optional<Table> table_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace

Result<std::vector<Outcome>> run_histogram_bench(HistogramRequest const& request) {
  GARUDA_TRY(check(request));
  Counts counts(request);
  GARUDA_TRY(counts.make());
  std::vector<Outcome> outcomes;
  for (auto const path : request.paths) {
    if (path != Path::graphics) {
      GARUDA_TRY(counts.by_atomics(path, outcomes));
      continue;
    }
    GARUDA_TRY_ASSIGN(auto outcome, counts.by_blending());
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace garuda::bench
