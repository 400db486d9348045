#include "operators/placement/whole_offer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/run/query_run.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::placement {
namespace {

/// Passes that partition a side of such a join.
constexpr double kStreamedPasses = 2;
/// Readings and writings of a table's columns that grouping it on a device takes, at most of the ways, and accesses to
/// a group; lanes that tables carried there open; and what taking memory, waiting for sizes and ending threads take
/// besides. The last three of group-bys on an H200, 2^27 rows into 2^16 and 2^24 groups (2026-11-21).
constexpr double kStreamedGroupPasses = 5;
constexpr double kStreamedGroupAccesses = 20;
constexpr double kWholeLanes = 3;
constexpr double kWholeNs = 5.3e6;
/// Batches of rows go to memory that is new to the process, at half the pace of copies to memory that is not.
constexpr double kNewMemoryShare = 0.5;

double group_ns(StreamedGroupShape const& shape, rates::DeviceRates const& rates) {
  return contract::stream_ns(kStreamedGroupPasses * shape.rows * shape.row_bytes, rates) +
         contract::read_ns(kStreamedGroupAccesses * shape.groups, rates);
}

}  // namespace

Result<void> check_placement(contract::DeviceFacts const& facts, Placement asked) {
  GARUDA_TRY(compute::compute_tuning(*facts.vulkan));
  if (asked != Placement::automatic || !facts.info->unified_memory) return {};
  return fail(ErrorCode::usage, "the device shares its memory with the host");
}

Result<void> check_budgets(RunOptions const& options, contract::DeviceFacts const& facts, std::uint64_t device_bytes,
                           std::uint64_t host_bytes) {
  auto const check = [](char const* whose, std::uint64_t bytes, std::uint64_t budget) -> Result<void> {
    if (bytes <= budget) return {};
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{} bytes of {} memory are needed, {} may be used", bytes, whose, budget));
  };
  GARUDA_TRY(check("device", device_bytes, contract::device_budget(options, facts)));
  auto const limit = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : run::free_host_bytes() / 4 * 3;
  // Batches under way take half of what the query may take, where that is known.
  return limit != 0 ? check("host", host_bytes, limit / 2) : Result<void>();
}

Result<void> check_buffers(std::span<device::UploadColumn const> columns, std::uint64_t rows,
                           contract::DeviceFacts const& facts) {
  auto const& limits = facts.vulkan->limits;
  auto const most = std::min(limits.max_buffer_size, limits.max_memory_allocation_size);
  for (auto const& column : columns)
    if (auto const bytes = rows * device::row_bytes({&column, 1}); bytes > most)
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("a column of {} bytes is larger than the device's buffers: {}", bytes, most));
  return {};
}

void describe(compute::NumberedStrings const& strings, contract::Offer& offer) {
  offer.details.emplace_back("string keys", fmt::format("{} strings{}", static_cast<std::uint64_t>(strings.strings),
                                                        strings.are_kept ? ", by numbers kept with the table"
                                                                         : " are hashed and compared on the device"));
}

Result<device::TableDevice> open_device(contract::DeviceSet& devices, std::size_t index, run::RunRecorder& recorder) {
  run::PhaseTimer const timer(recorder, "open device");
  device::TableDevice device;
  GARUDA_TRY_ASSIGN(device.open, vulkan::open_vulkan(devices, index));
  device.info = &devices.devices()[index];
  return device;
}

contract::PhaseCosts streamed_join_costs(StreamedShape const& shape, rates::DeviceRates const& rates,
                                         rates::HostRates const& host) {
  // Threads copy into and out of staging memory side by side, up and down at once.
  auto const up_per_s =
      contract::team_bytes_per_s(rates.stage_bytes_per_s, rates.team_upload_bytes_per_s, shape.copy_threads, host);
  auto const down_per_s =
      contract::team_bytes_per_s(rates.download_bytes_per_s, rates.team_download_bytes_per_s, shape.copy_threads, host);
  auto const ranges = std::max(std::ceil(shape.probe_rows / std::max(shape.range_rows, 1.0)), 1.0);
  auto const passes_ns = [&](double rows, double row_bytes) {
    return contract::stream_ns(kStreamedPasses * rows * (shape.key_bytes + 2 * row_bytes), rates);
  };
  auto const build_up = shape.build_rows * shape.build_row_bytes / up_per_s * contract::kNs;
  auto const probe_up = shape.probe_rows * shape.probe_row_bytes / up_per_s * contract::kNs;
  auto const down = shape.matches * shape.arriving_row_bytes / down_per_s * contract::kNs;
  double gathered = 0;
  for (auto const& [value_bytes, column_bytes] : shape.gathered)
    gathered += contract::column_ns(shape.matches, {.bytes = value_bytes, .is_plain = false},
                                    column_bytes / std::max(value_bytes, 1.0), host) *
                contract::kGathererShare;
  auto const joined = passes_ns(shape.probe_rows, shape.probe_moved_bytes) +
                      contract::read_ns(shape.probe_rows, rates) +
                      contract::stream_ns(2 * shape.matches * shape.result_row_bytes, rates);
  auto const slowest = std::max({probe_up, joined, down, gathered});
  // The first range arrives, and the last one's rows leave, while nothing else moves.
  auto const alone = (probe_up + joined + down + gathered - slowest) / ranges;
  return {{"start", host.query_ns},
          {"open", rates.lane_ns + 2 * shape.copy_threads * contract::kCopyThreadNs},
          {"upload build", build_up},
          {"partition build", passes_ns(shape.build_rows, shape.build_moved_bytes)},
          {"ranges", slowest + alone},
          {"submissions", (1 + ranges) * (contract::kJoinSubmissions * rates.submission_ns + 2 * rates.stage_call_ns)}};
}

contract::PhaseCosts resident_group_by_costs(StreamedGroupShape const& shape, rates::DeviceRates const& rates,
                                             rates::HostRates const& host) {
  contract::PhaseCosts costs{{"start", host.query_ns}, {"open", rates.lane_ns}};
  for (auto const& strings : shape.strings) {
    auto const numbered = compute::string_number_costs(strings, rates);
    costs.insert(costs.end(), numbered.begin(), numbered.end());
  }
  costs.emplace_back("group", group_ns(shape, rates));
  costs.emplace_back("submissions", contract::kGroupBySubmissions * rates.submission_ns);
  return costs;
}

contract::PhaseCosts carried_costs(CarriedShape const& shape, contract::PhaseCosts there,
                                   rates::DeviceRates const& rates, rates::HostRates const& host) {
  auto const up_per_s =
      contract::team_bytes_per_s(rates.stage_bytes_per_s, rates.team_upload_bytes_per_s, shape.copy_threads, host);
  auto const down_per_s =
      contract::team_bytes_per_s(rates.download_bytes_per_s, rates.team_download_bytes_per_s, shape.copy_threads, host);
  contract::PhaseCosts costs{
      {"start", host.query_ns},
      {"open", kWholeLanes * rates.lane_ns + 2 * shape.copy_threads * contract::kCopyThreadNs + kWholeNs},
      {"convert", contract::encode_ns(shape.converted, host) * host.threads},
      {"upload", shape.up_bytes / up_per_s * contract::kNs}};
  std::ranges::move(there, std::back_inserter(costs));
  costs.emplace_back("download", shape.down_bytes / (kNewMemoryShare * down_per_s) * contract::kNs);
  costs.emplace_back("submissions", 4 * rates.stage_call_ns);
  return costs;
}

contract::PhaseCosts streamed_group_by_costs(StreamedGroupShape const& shape, rates::DeviceRates const& rates,
                                             rates::HostRates const& host) {
  return carried_costs({shape.rows * shape.row_bytes, shape.groups * shape.result_row_bytes,
                        shape.rows * shape.converted, shape.copy_threads},
                       {{"encode", shape.encodes_first ? contract::encode_ns(shape.rows, host) : 0},
                        {"group", group_ns(shape, rates)},
                        {"submissions", contract::kGroupBySubmissions * rates.submission_ns}},
                       rates, host);
}

}  // namespace garuda::placement
