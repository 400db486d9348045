#include "operators/compute/join/match_estimate.hpp"

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "operators/compute/join/indexed_side.hpp"
#include "operators/compute/primitives/device_primitives.hpp"

namespace garuda::compute {
namespace {

constexpr char const* kEstimatePhase = "estimate";
constexpr std::uint64_t kSampleRows = 4096;
/// Build rows that are looked up at once: scratch memory stays small.
constexpr std::uint64_t kWindowRows = std::uint64_t{1} << 23;

/// One row out of each of as many even pieces of the side; the same rows in every run.
std::vector<std::uint32_t> sample_of(std::uint64_t rows) {
  auto const count = std::min(rows, kSampleRows);
  std::minstd_rand random(1);
  std::vector<std::uint32_t> sample;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto const begin = i * rows / count;
    auto const piece = (i + 1) * rows / count - begin;
    sample.push_back(static_cast<std::uint32_t>(begin + random() % piece));
  }
  return sample;
}

Result<IndexedSide> index_sample(ComputeContext& context, DeviceColumn keys, std::span<std::uint32_t const> sample) {
  GARUDA_TRY_ASSIGN(auto const rows, context.device_buffer(sample.size_bytes(), "sampled rows", context.upload_use()));
  GARUDA_TRY(context.upload(rows, 0, std::as_bytes(sample)));
  GARUDA_TRY_ASSIGN(auto const sampled, context.device_buffer(sample.size() * keys.words * 4, "sampled keys"));
  GARUDA_TRY(record_gather(context, kEstimatePhase, keys.address, rows.address(), sampled.address(), sample.size(),
                           keys.words));
  GARUDA_TRY_ASSIGN(auto search, KeyBoundsSearch::create(context));
  DeviceColumn const column{sampled.address(), keys.words};
  GARUDA_TRY_ASSIGN(auto const bounds, search.find(context, kEstimatePhase, column, sample.size()));
  GARUDA_TRY_ASSIGN(auto side, IndexedSide::create(context, {sample.size(), column, {}, true}, bounds));
  GARUDA_TRY(side.record(context));
  // The sample is not read any more when it goes.
  GARUDA_TRY(context.submissions().finish());
  return side;
}

}  // namespace

Result<double> estimate_matches(ComputeContext& context, DeviceRows const& build, DeviceRows const& probe) {
  GARUDA_EXPECTS(build.keys.words == probe.keys.words);
  if (build.rows == 0 || probe.rows == 0) return 0.0;
  auto const sample = sample_of(probe.rows);
  GARUDA_TRY_ASSIGN(auto const side, index_sample(context, probe.keys, sample));
  auto const window = std::min(build.rows, kWindowRows);
  GARUDA_TRY_ASSIGN(auto const runs, MatchRuns::create(context, window));
  GARUDA_TRY_ASSIGN(auto const sum, context.device_buffer(sizeof(std::uint64_t), "sampled matches"));
  double matches = 0;
  for (std::uint64_t first = 0; first < build.rows; first += window) {
    auto const rows = std::min(window, build.rows - first);
    auto const keys = build.keys.address + first * build.keys.words * 4;
    GARUDA_TRY(record_look_ups(context, kEstimatePhase, side.index(), keys, rows, runs));
    GARUDA_TRY(record_reduce(context, kEstimatePhase, Reduction::add, runs.counts.address(), rows, 1, sum));
    GARUDA_TRY(context.order_all(kEstimatePhase));
    std::uint64_t found = 0;
    GARUDA_TRY(context.read_back(kEstimatePhase, sum, 0, std::as_writable_bytes(std::span(&found, 1))));
    matches += static_cast<double>(found);
  }
  return matches * static_cast<double>(probe.rows) / static_cast<double>(sample.size());
}

}  // namespace garuda::compute
