#include "operators/join_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "operators/graphics/graphics_choice.hpp"
#include "operators/join_kernel.hpp"
#include "operators/join_registry.hpp"
#include "partition/radix_partition.hpp"
#include "vk_runtime/device_choice.hpp"

namespace garuda::operators {
namespace {

/// Width and height of the largest hash image unless tuned (GARUDA §5).
constexpr std::uint32_t kImageEdge = 4096;
constexpr std::uint32_t kResultEdge = 2048;
constexpr std::uint32_t kStackLimit = 8;
/// Build rows a CPU partition: keys, row ids and table together stay within a core's share of the last-level cache.
constexpr std::uint64_t kCpuPartitionRows = std::uint64_t{1} << 16;
constexpr std::uint64_t kLargestChunkRows = std::uint64_t{1} << 19;
constexpr std::uint64_t kSmallestChunkRows = 1024;
constexpr std::uint64_t kSmallestDeviceSliceRows = 4096;
/// Rows per second and thread on the host, before calibration: measured with one thread of a 2-core x86-64 virtual
/// machine.
constexpr double kEncodePartitionRows = 40e6;
constexpr double kCpuJoinRows = 12e6;

std::uint64_t row_bytes(JoinShape const& shape) { return shape.key_bits / 8 + (shape.wide_row_ids ? 8 : 4); }

std::uint64_t rows_of(JoinShape const& shape) { return shape.rows_left + shape.rows_right; }

std::uint64_t larger_side(JoinShape const& shape) { return std::max(shape.rows_left, shape.rows_right); }

/// Smallest radix bits that bring `rows` to at most `target` a partition.
std::uint32_t bits_for(std::uint64_t rows, std::uint64_t target) {
  std::uint32_t bits = 0;
  while (bits < partition::kMaxRadixBits && (rows >> bits) > target) ++bits;
  return bits;
}

bool is_dense(JoinShape const& shape) {
  auto const rows = std::max<std::uint64_t>(larger_side(shape), 1);
  auto const range = std::max(shape.key_range_left, shape.key_range_right);
  return range != 0 && range / 8 <= rows;
}

/// Fills in what the tuning leaves open.
JoinTuning graphics_tuning(JoinTuning tuning) {
  if (tuning.image == 0) tuning.image = kImageEdge;
  if (tuning.result == 0) tuning.result = kResultEdge;
  if (tuning.sh_limit == 0) tuning.sh_limit = kStackLimit;
  return tuning;
}

/// Device bytes that one slice of `rows` rows a side takes with a full stack.
std::uint64_t full_slice_bytes(std::uint64_t rows, JoinShape const& shape, JoinTuning const& tuning,
                               GraphicsLimits const& limits) {
  auto const image_bytes = hash_image(std::max<std::uint64_t>(rows, 1), limits).pixels() * (shape.key_bits / 4);
  return slice_bytes(rows, rows, shape.key_bits, limits) + (tuning.sh_limit - 1) * image_bytes;
}

struct Sizing {
  JoinTuning tuning;
  std::uint32_t radix_bits = 0;
  std::uint32_t lanes = 1;
  std::uint64_t slice_rows = kMaxPassRows;
  std::uint64_t device_bytes = 0;
};

Sizing size_for_cpu(JoinShape const& shape, JoinTuning const& tuning) {
  Sizing sizing;
  sizing.tuning = tuning;
  auto const smaller = std::min(shape.rows_left, shape.rows_right);
  sizing.radix_bits = tuning.radix_bits >= 0 ? static_cast<std::uint32_t>(tuning.radix_bits)
                                             : bits_for(std::max(smaller, larger_side(shape) / 16), kCpuPartitionRows);
  sizing.lanes = tuning.lanes != 0 ? tuning.lanes : shape.threads;
  if (tuning.slice_rows != 0) sizing.slice_rows = tuning.slice_rows;
  return sizing;
}

Result<Sizing> size_for_graphics(JoinShape const& shape, JoinOptions const& options, vk::DeviceTraits const& traits) {
  Sizing sizing;
  sizing.tuning = graphics_tuning(options.tuning);
  sizing.lanes = options.tuning.lanes != 0 ? options.tuning.lanes : 2;
  GARUDA_TRY_ASSIGN(auto const limits, graphics_limits(traits, sizing.tuning));
  auto const budget =
      options.device_memory_limit_bytes != 0 ? options.device_memory_limit_bytes : traits.device_local_bytes() / 4 * 3;
  sizing.slice_rows = options.tuning.slice_rows != 0 ? options.tuning.slice_rows : kMaxPassRows;
  auto const bytes_of = [&](std::uint64_t rows) {
    return full_slice_bytes(rows, shape, sizing.tuning, limits) * sizing.lanes;
  };
  while (sizing.slice_rows > kSmallestDeviceSliceRows &&
         bytes_of(std::min(sizing.slice_rows, larger_side(shape))) > budget)
    sizing.slice_rows /= 2;
  auto const pixels = std::min(std::uint64_t{limits.hash_extent} * limits.hash_extent, limits.max_pixels);
  auto const hash_rows = static_cast<std::uint64_t>(static_cast<double>(pixels) * kHashFill);
  auto const target = std::max<std::uint64_t>(std::min(sizing.slice_rows, is_dense(shape) ? pixels : hash_rows), 1);
  sizing.radix_bits = options.tuning.radix_bits >= 0 ? static_cast<std::uint32_t>(options.tuning.radix_bits)
                                                     : bits_for(larger_side(shape), target);
  sizing.device_bytes = bytes_of(std::min(sizing.slice_rows, (larger_side(shape) >> sizing.radix_bits) + 1));
  return sizing;
}

using Phases = std::vector<std::pair<std::string, double>>;

double sum_ns(Phases const& phases) {
  double total = 0;
  for (auto const& [name, ns] : phases) total += ns;
  return total;
}

Candidate price_cpu(JoinShape const& shape) {
  Candidate candidate;
  candidate.path = Path::cpu;
  candidate.device = "cpu";
  auto const rows = static_cast<double>(rows_of(shape));
  auto const threads = static_cast<double>(shape.threads);
  candidate.phases_ns = {{"partition", rows / (kEncodePartitionRows * threads) * 1e9},
                         {"join", rows / (kCpuJoinRows * threads) * 1e9}};
  candidate.estimated_ns = sum_ns(candidate.phases_ns);
  candidate.reason = fmt::format("default rates, {} threads", shape.threads);
  return candidate;
}

/// Assumes one match a probe row and one image layer: what a key and its foreign key give.
Candidate price_graphics(JoinShape const& shape, DeviceFacts const& facts, Sizing const& sizing) {
  Candidate candidate;
  candidate.path = Path::graphics;
  candidate.device = facts.info->name;
  candidate.choices = to_string(sizing.tuning);
  auto const rates = default_rates(facts.traits->type);
  auto const build = static_cast<double>(std::min(shape.rows_left, shape.rows_right));
  auto const probe = static_cast<double>(larger_side(shape));
  auto const pixels = (build + probe) / kHashFill;
  auto const key_bytes = static_cast<double>(shape.key_bits) / 8;
  auto const points_ns = [&](double points) { return points / rates.points_per_s * 1e9; };
  auto const pixels_ns = [&](double count) { return count / rates.pixels_per_s * 1e9; };
  auto const copy_ns = [&](double bytes) { return bytes / rates.copy_bytes_per_s * 1e9; };
  auto const threads = static_cast<double>(shape.threads);
  candidate.phases_ns = {{"partition", (build + probe) / (kEncodePartitionRows * threads) * 1e9},
                         {"upload", copy_ns((build + probe) * key_bytes)},
                         {"statistics", points_ns(build + probe) + pixels_ns(2 * pixels)},
                         {"build", points_ns(build) + pixels_ns(2 * pixels)},
                         {"count", points_ns(probe) + pixels_ns(probe)},
                         {"prefix", pixels_ns(2 * probe)},
                         {"probe", points_ns(probe) + pixels_ns(probe)},
                         {"download", copy_ns(probe * 8)}};
  candidate.estimated_ns = sum_ns(candidate.phases_ns);
  candidate.reason = fmt::format("default rates of a {} device, not calibrated", to_string(facts.info->kind));
  return candidate;
}

std::string allowed_by_device(std::span<DeviceFacts const> devices) {
  return devices.empty() ? "no Vulkan device was found" : "no Vulkan device is usable";
}

/// The device that the options ask the graphics path to use; nullopt with path and device both automatic.
Result<std::optional<std::size_t>> requested_device(std::span<DeviceFacts const> devices, JoinOptions const& options) {
  if (options.path == Path::automatic && !options.device) return std::nullopt;
  if (devices.empty())
    return fail(ErrorCode::no_device, fmt::format("the graphics path cannot run: {}", allowed_by_device(devices)));
  std::vector<vk::DeviceTraits> traits;
  for (auto const& facts : devices) traits.push_back(*facts.traits);
  auto choice = vk::choose_device(traits, vk::parse_device_request(options.device.value_or("auto")));
  if (!choice) return propagate(std::move(choice));
  return choice->index;
}

/// One way to run, priced and sized.
struct Option {
  Candidate candidate;
  Sizing sizing;
  std::optional<std::size_t> device;
  bool can_run = true;
};

Result<std::vector<Option>> list_options(JoinShape const& shape, std::span<DeviceFacts const> devices,
                                         JoinOptions const& options, std::optional<std::size_t> requested) {
  std::vector<Option> all;
  all.push_back({price_cpu(shape), size_for_cpu(shape, options.tuning), std::nullopt});
  for (std::size_t i = 0; i < devices.size(); ++i) {
    auto const& facts = devices[i];
    if (!facts.info->usable) {
      all.push_back({{Path::graphics, facts.info->name, "", 0, facts.info->reason, {}}, {}, i, false});
      continue;
    }
    auto sizing = size_for_graphics(shape, options, *facts.traits);
    if (!sizing && requested == i) return propagate(std::move(sizing));
    if (!sizing) {
      all.push_back({{Path::graphics, facts.info->name, "", 0, sizing.error().message(), {}}, {}, i, false});
      continue;
    }
    auto candidate = price_graphics(shape, facts, *sizing);
    if (facts.traits->type == vk::DeviceType::cpu && requested != i)
      candidate.reason = "a software device: not taken unless asked for";
    all.push_back({std::move(candidate), *sizing, i});
  }
  return all;
}

/// Whether the options and the device rules allow `option` to be chosen.
bool is_allowed(Option const& option, std::span<DeviceFacts const> devices, JoinOptions const& options,
                std::optional<std::size_t> requested) {
  if (option.candidate.path == Path::cpu)
    return options.path == Path::cpu || (options.path == Path::automatic && !options.device);
  if (options.path == Path::cpu || !option.can_run) return false;
  if (requested) return requested == option.device;
  return devices[*option.device].traits->type != vk::DeviceType::cpu;
}

Result<void> check_path(JoinOptions const& options) {
  if (options.path != Path::automatic && find_join_path(options.path) == nullptr)
    return fail(ErrorCode::no_device, fmt::format("path {} is not part of this build", to_string(options.path)));
  if (options.path == Path::cpu && options.device)
    return fail(ErrorCode::usage, fmt::format("the CPU path takes no device: {}", *options.device));
  return {};
}

/// Host memory: partitioned keys must fit; what is left decides the rows of a chunk.
Result<void> size_host_memory(JoinShape const& shape, JoinOptions const& options, Plan& plan) {
  auto const limit = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : shape.free_host_bytes / 4 * 3;
  auto const keys = shape.encoded_bytes + rows_of(shape) * row_bytes(shape);
  if (limit != 0 && keys > limit)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("the partitioned keys of {} rows need {} bytes of host memory, over the limit: {}",
                            rows_of(shape), keys, limit));
  // Per row of a chunk: gathered columns, once more while they are written; pairs waiting, being made and being read.
  auto const per_row = 3 * shape.output_row_bytes + 24 * (std::uint64_t{plan.lanes} + 3);
  auto const affordable = limit == 0 ? kLargestChunkRows : (limit - keys) / 4 / per_row;
  plan.chunk_rows = options.tuning.chunk_rows != 0 ? options.tuning.chunk_rows
                                                   : std::clamp(affordable, kSmallestChunkRows, kLargestChunkRows);
  plan.host_bytes = keys + plan.chunk_rows * per_row;
  return {};
}

}  // namespace

DeviceRates default_rates(vk::DeviceType type) noexcept {
  switch (type) {
    case vk::DeviceType::discrete:
      return {0.59e9, 7e9, 20e9};
    case vk::DeviceType::cpu:
      return {2.4e6, 0.2e9, 5e9};
    case vk::DeviceType::integrated:
    case vk::DeviceType::virtual_gpu:
    case vk::DeviceType::other:
      break;
  }
  return {0.05e9, 1e9, 10e9};
}

Result<JoinPlan> plan_join(JoinShape const& shape, std::span<DeviceFacts const> devices, JoinOptions const& options) {
  GARUDA_TRY(check_path(options));
  std::optional<std::size_t> requested;
  if (options.path != Path::cpu) {
    GARUDA_TRY_ASSIGN(requested, requested_device(devices, options));
  }
  GARUDA_TRY_ASSIGN(auto all, list_options(shape, devices, options, requested));
  Option const* best = nullptr;
  for (auto const& option : all)
    if (is_allowed(option, devices, options, requested) &&
        (best == nullptr || option.candidate.estimated_ns < best->candidate.estimated_ns))
      best = &option;
  if (best == nullptr)
    return fail(ErrorCode::no_device, fmt::format("the graphics path cannot run: {}", allowed_by_device(devices)));

  JoinPlan result;
  result.tuning = best->sizing.tuning;
  result.device = best->device;
  auto& plan = result.plan;
  plan.path = best->candidate.path;
  plan.device = best->candidate.device;
  if (best->device) plan.driver = devices[*best->device].info->driver;
  plan.reason = options.path != Path::automatic ? fmt::format("path {} was asked for", to_string(options.path))
                : options.device                ? "the device was asked for"
                                                : "the least estimated time of all candidates";
  plan.key_bits = shape.key_bits;
  plan.radix_bits = best->sizing.radix_bits;
  plan.slice_rows = best->sizing.slice_rows;
  plan.lanes = best->sizing.lanes;
  plan.device_bytes = best->sizing.device_bytes;
  plan.tuning = to_string(result.tuning);
  if (plan.path == Path::graphics && devices[*best->device].traits->type == vk::DeviceType::cpu)
    plan.notes.push_back("the device is a software rasteriser: results are right, speed says nothing about a GPU");
  GARUDA_TRY(size_host_memory(shape, options, plan));
  for (auto& option : all) plan.candidates.push_back(std::move(option.candidate));
  return result;
}

}  // namespace garuda::operators
