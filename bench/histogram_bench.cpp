#include "bench/histogram_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "bench/random.hpp"
#include "bench/resident_bench.hpp"
#include "bench/table_builder.hpp"
#include "bench/vulkan_device.hpp"
#include "garuda/control.hpp"
#include "operators/calibrate/point_draws.hpp"

namespace garuda::bench {
namespace {

/// Blending adds floats, which count exactly up to here.
constexpr std::uint32_t kMostExact = 1U << 24;

Result<void> check(HistogramRequest const& request) {
  if (!std::has_single_bit(request.bins) || request.bins > std::uint64_t{1} << 30)
    return fail(ErrorCode::usage, fmt::format("--bins must be a power of two up to 2^30: {}", request.bins));
  if (request.rows == 0 || request.rows >= std::uint64_t{1} << 31)
    return fail(ErrorCode::usage, fmt::format("--rows out of range [1, 2^31 - 1]: {}", request.rows));
  if (request.repeat == 0) return fail(ErrorCode::usage, "--repeat must be at least 1: 0");
  return {};
}

Result<Table> make_values(HistogramRequest const& request) {
  TableBuilder builder(request.rows);
  GARUDA_TRY(builder.add_column<std::int32_t>(
      "value", [&](std::uint64_t row) { return static_cast<std::int32_t>(RowRandom(request.seed, row).next()); }));
  return builder.finish();
}

std::vector<std::uint32_t> bins_of(Table const& table, std::uint64_t bins) {
  auto const* const values = table.batches()[0].columns[0].data<std::int32_t>();
  std::vector<std::uint32_t> all(static_cast<std::size_t>(table.num_rows()));
  std::ranges::transform(values, values + all.size(), all.begin(), [&](std::int32_t value) {
    return static_cast<std::uint32_t>(value) & static_cast<std::uint32_t>(bins - 1);
  });
  return all;
}

std::vector<std::uint32_t> count_on_host(std::vector<std::uint32_t> const& values, std::uint64_t bins) {
  std::vector<std::uint32_t> counts(bins);
  for (auto const value : values) ++counts[value];
  return counts;
}

tl::unexpected<Error> wrong_count(std::uint64_t bin, std::uint32_t expected, std::uint64_t counted) {
  return fail(ErrorCode::device_failure, fmt::format("the count of bin {} is wrong, {}: {}", bin, expected, counted));
}

Record make_record(HistogramRequest const& request, Path path, std::vector<std::uint64_t> samples_ns) {
  Record record;
  record.op = "histogram";
  record.path = to_string(path);
  record.mode = "resident";
  record.rows = request.rows;
  record.rows_out = request.bins;
  record.samples_ns = std::move(samples_ns);
  record.time = summarise(record.samples_ns);
  record.bytes = request.rows * 4 + request.bins * 4;
  record.phases = {{"count", record.time.median_ns, record.bytes, request.rows}};
  record.verified = true;
  return record;
}

/// One point a value, at its bin's pixel, added to it.
Result<HistogramOutcome> count_by_blending(HistogramRequest const& request, std::vector<std::uint32_t> const& values,
                                           std::vector<std::uint32_t> const& counts) {
  if (std::ranges::max(counts) > kMostExact)
    return fail(ErrorCode::usage, "a bin has more than 2^24 values, which blending does not count exactly");
  GARUDA_TRY_ASSIGN(auto const opened, open_device(request.device.value_or("auto")));
  GARUDA_TRY_ASSIGN(auto const pipelines, vk::PipelineStore::create(*opened.device, vk::default_cache_folder()));
  vk::LaneOptions lane_options;
  lane_options.name = "bench histogram";
  GARUDA_TRY_ASSIGN(auto const lane, vk::Lane::create(*opened.device, lane_options));
  auto const image = calibrate::image_for(request.bins, calibrate::PointTarget::add);
  GARUDA_TRY_ASSIGN(auto draw, calibrate::PointDraw::create(*lane, *pipelines, image, values));
  GARUDA_TRY(draw.run());
  GARUDA_TRY_ASSIGN(auto const pixels, draw.read_image());
  for (std::uint64_t bin = 0; bin < request.bins; ++bin)
    if (auto const counted = std::bit_cast<float>(pixels[bin]); counted != static_cast<float>(counts[bin]))
      return wrong_count(bin, counts[bin], static_cast<std::uint64_t>(counted));
  std::vector<std::uint64_t> samples_ns;
  for (std::uint32_t i = 0; i < request.repeat; ++i) {
    GARUDA_TRY_ASSIGN(auto const ns, draw.run());
    samples_ns.push_back(ns);
  }
  HistogramOutcome outcome{make_record(request, Path::graphics, std::move(samples_ns)),
                           fmt::format("blending into {} x {} R32_SFLOAT", image.width, image.height)};
  outcome.record.device = opened.name();
  outcome.record.driver = opened.driver();
  return outcome;
}

Result<HistogramOutcome> count_by_atomics(HistogramRequest const& request, ResidentPath& path,
                                          UploadedTable const& table, HistogramSetting const& setting,
                                          std::vector<std::uint32_t> const& counts) {
  GARUDA_TRY_ASSIGN(auto const query, path.begin_histogram(table, request.bins, setting));
  GARUDA_TRY(query->prepare());
  GARUDA_TRY_ASSIGN(auto const result, query->download());
  auto const* const counted = result.batches()[0].columns[0].data<std::int32_t>();
  for (std::uint64_t bin = 0; bin < request.bins; ++bin)
    if (static_cast<std::uint32_t>(counted[bin]) != counts[bin])
      return wrong_count(bin, counts[bin], static_cast<std::uint32_t>(counted[bin]));
  std::vector<PhaseSample> runs;
  for (std::uint32_t i = 0; i < request.repeat; ++i) {
    GARUDA_TRY_ASSIGN(auto sample, query->run());
    runs.push_back(std::move(sample));
  }
  HistogramOutcome outcome{make_record(request, path.path(), times_of(runs)), query->describe()};
  outcome.record.device = path.device();
  outcome.record.driver = path.driver();
  return outcome;
}

}  // namespace

Result<std::vector<HistogramOutcome>> run_histogram_bench(HistogramRequest const& request) {
  GARUDA_TRY(check(request));
  GARUDA_TRY_ASSIGN(auto const table, make_values(request));
  auto const values = bins_of(table, request.bins);
  auto const counts = count_on_host(values, request.bins);
  Control control;
  control.cancelled = request.cancelled;
  std::vector<HistogramOutcome> outcomes;
  for (auto const path : request.paths) {
    if (path == Path::graphics) {
      GARUDA_TRY_ASSIGN(auto outcome, count_by_blending(request, values, counts));
      outcomes.push_back(std::move(outcome));
      continue;
    }
    auto opened = open_resident_paths(std::array{ResidentChoice{path, {}}}, request.device);
    if (!opened[0]) return tl::unexpected(std::move(opened[0]).error());
    GARUDA_TRY_ASSIGN(auto const uploaded, (*opened[0])->upload(table, Sharing::own));
    for (auto const& setting : (*opened[0])->histogram_settings(request.bins)) {
      if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between settings");
      GARUDA_TRY_ASSIGN(auto outcome, count_by_atomics(request, **opened[0], uploaded, setting, counts));
      outcomes.push_back(std::move(outcome));
    }
  }
  return outcomes;
}

}  // namespace garuda::bench
