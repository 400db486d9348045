#include "operators/group_by_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "operators/compute/compute_group_by.hpp"
#include "operators/cost_model.hpp"
#include "operators/cpu_group_by_ways.hpp"
#include "operators/cuda/cuda_group_by.hpp"
#include "operators/graphics/group_by_choice.hpp"
#include "operators/group_by_registry.hpp"
#include "operators/sizing.hpp"
#include "operators/upload_mode.hpp"

namespace garuda::operators {
namespace {

/// With the pixels of a slice's first hash image.
struct GroupBySizing : Sizing<GroupByTuning> {
  double pixels = 0;
  Grouping grouping = Grouping::slices;
  std::uint64_t whole_bytes = 0;  ///< host memory of another grouping
  std::string grouping_reason = "the path's way";
};

/// Groups of a CPU partition: keys, table and states stay within a core's share of the last-level cache.
constexpr std::uint64_t kCpuPartitionGroups = std::uint64_t{1} << 16;
constexpr std::uint64_t kSmallestCpuSliceRows = std::uint64_t{1} << 16;
/// Slices are merged group by group; above this share of the rows that costs more than partitioning them.
constexpr std::uint64_t kMergedShare = 4;

std::uint64_t slices_for(std::uint64_t rows, std::uint64_t slice_rows) { return (rows + slice_rows - 1) / slice_rows; }

std::uint64_t key_bytes(GroupByShape const& shape) { return shape.key_bits / 8 + 4 * std::uint64_t{shape.key_words}; }

bool has_keys(GroupByShape const& shape) { return key_bytes(shape) > 0; }

/// Radix bits that keep merging cheap: none while few groups, or few slices, are merged.
std::uint32_t bits_against_merging(GroupByShape const& shape, std::uint64_t slice_rows) {
  auto const slices = slices_for(shape.rows, slice_rows);
  if (!has_keys(shape) || slices <= 1 || shape.estimated_groups * slices < shape.rows / kMergedShare) return 0;
  return radix_bits_for(shape.rows, slice_rows);
}

GroupBySizing size_for_cpu(GroupByShape const& shape, GroupByTuning const& tuning) {
  GroupBySizing sizing;
  sizing.tuning = tuning;
  sizing.lanes = tuning.lanes != 0 ? tuning.lanes : shape.threads;
  auto const share = std::max(slices_for(shape.rows, sizing.lanes), kSmallestCpuSliceRows);
  sizing.slice_rows = tuning.slice_rows != 0 ? tuning.slice_rows : std::min(share, kMaxPassRows);
  if (tuning.radix_bits >= 0)
    sizing.radix_bits = static_cast<std::uint32_t>(tuning.radix_bits);
  else
    sizing.radix_bits = std::max(bits_against_merging(shape, sizing.slice_rows),
                                 has_keys(shape) ? radix_bits_for(shape.estimated_groups, kCpuPartitionGroups) : 0);
  return sizing;
}

std::uint32_t words_of_keys(GroupByShape const& shape) { return static_cast<std::uint32_t>(key_bytes(shape) / 4); }

/// Groups that a slice has, about.
std::uint64_t slice_groups(GroupByShape const& shape, GroupBySizing const& sizing) {
  auto const rows = std::min(sizing.slice_rows, (shape.rows >> sizing.radix_bits) + 1);
  return std::clamp<std::uint64_t>(shape.estimated_groups >> sizing.radix_bits, 1, rows);
}

/// The first hash image of a slice.
ImageShape image_of(GroupByShape const& shape, GroupBySizing const& sizing, GroupByLimits const& limits) {
  auto const words = sizing.tuning.keys == KeyForm::rowid ? 0 : words_of_keys(shape);
  return group_image(slice_groups(shape, sizing), 4 * (1 + std::uint64_t{words}), ~std::uint64_t{0}, limits);
}

/// Lanes and rows, at most `most_rows`, of a slice on a device whose slices of so many rows take `bytes_of` them.
template <class BytesOf>
void size_slices(GroupByShape const& shape, GroupByOptions const& options, vk::DeviceTraits const& traits,
                 std::uint64_t most_rows, BytesOf const& bytes_of, GroupBySizing& sizing) {
  sizing.lanes = options.tuning.lanes != 0 ? options.tuning.lanes : 2;
  auto const budget =
      options.device_memory_limit_bytes != 0 ? options.device_memory_limit_bytes : traits.device_local_bytes() / 4 * 3;
  sizing.slice_rows = std::min(options.tuning.slice_rows != 0 ? options.tuning.slice_rows : kMaxPassRows, most_rows);
  while (sizing.slice_rows > kSmallestDeviceSliceRows &&
         bytes_of(std::min(sizing.slice_rows, shape.rows)) * sizing.lanes > budget)
    sizing.slice_rows /= 2;
}

Result<GroupBySizing> size_for_graphics(GroupByShape const& shape, GroupByOptions const& options,
                                        vk::DeviceTraits const& traits) {
  GroupBySizing sizing;
  sizing.tuning = options.tuning;
  if (sizing.tuning.image == 0) sizing.tuning.image = kImageEdge;
  GARUDA_TRY_ASSIGN(auto const limits, group_by_limits(traits, sizing.tuning));
  if (shape.key_words > 0) {
    GARUDA_TRY_ASSIGN(sizing.tuning.keys, choose_key_form(shape.key_words, options.tuning.keys, limits));
  }
  auto const bytes_of = [&](std::uint64_t rows) {
    return group_by_slice_bytes(rows, words_of_keys(shape), shape.widest_value, limits);
  };
  size_slices(shape, options, traits, group_by_slice_rows(words_of_keys(shape), shape.widest_value, limits), bytes_of,
              sizing);
  // Duplicates of a key never clash, so groups, not rows, fill an image; those beyond it take further images.
  auto const pixels = std::uint64_t{limits.images.hash_extent} * limits.images.hash_extent;
  auto const image_groups = static_cast<std::uint64_t>(static_cast<double>(pixels) * kHashFill) + 1;
  auto const bits_for_image = has_keys(shape) ? radix_bits_for(shape.estimated_groups, image_groups) : 0;
  sizing.radix_bits = options.tuning.radix_bits >= 0
                          ? static_cast<std::uint32_t>(options.tuning.radix_bits)
                          : std::max(bits_for_image, bits_against_merging(shape, sizing.slice_rows));
  sizing.device_bytes = bytes_of(std::min(sizing.slice_rows, (shape.rows >> sizing.radix_bits) + 1)) * sizing.lanes;
  if (has_keys(shape)) sizing.pixels = static_cast<double>(image_of(shape, sizing, limits).pixels());
  return sizing;
}

/// Tables hold any number of groups, so partitions only keep merging cheap.
Result<GroupBySizing> size_for_compute(GroupByShape const& shape, GroupByOptions const& options,
                                       vk::DeviceTraits const& traits) {
  GroupBySizing sizing;
  sizing.tuning = options.tuning;
  GARUDA_TRY_ASSIGN(auto const limits, compute_group_by_limits(traits, options.tuning));
  auto const bytes_of = [&](std::uint64_t rows) {
    return compute_group_by_slice_bytes(rows, words_of_keys(shape), shape.widest_value, limits);
  };
  size_slices(shape, options, traits, group_by_slice_rows(words_of_keys(shape), shape.widest_value, limits), bytes_of,
              sizing);
  sizing.radix_bits = options.tuning.radix_bits >= 0 ? static_cast<std::uint32_t>(options.tuning.radix_bits)
                                                     : bits_against_merging(shape, sizing.slice_rows);
  sizing.device_bytes = bytes_of(std::min(sizing.slice_rows, (shape.rows >> sizing.radix_bits) + 1)) * sizing.lanes;
  return sizing;
}

GroupBySizing size_for_cuda(GroupByShape const& shape, GroupByOptions const& options, vk::DeviceTraits const& traits) {
  GroupBySizing sizing;
  sizing.tuning = options.tuning;
  auto const bytes_of = [&](std::uint64_t rows) {
    return cuda_group_by_bytes(rows, words_of_keys(shape), shape.widest_value);
  };
  size_slices(shape, options, traits, kMaxPassRows, bytes_of, sizing);
  sizing.radix_bits = options.tuning.radix_bits >= 0 ? static_cast<std::uint32_t>(options.tuning.radix_bits)
                                                     : bits_against_merging(shape, sizing.slice_rows);
  sizing.device_bytes = bytes_of(std::min(sizing.slice_rows, (shape.rows >> sizing.radix_bits) + 1)) * sizing.lanes;
  return sizing;
}

Result<GroupBySizing> size_for_device(Path path, GroupByShape const& shape, GroupByOptions const& options,
                                      DeviceFacts const& facts) {
  if (!facts.info->usable) return fail(ErrorCode::no_device, facts.info->reason);
  if (path == Path::cuda) return size_for_cuda(shape, options, *facts.traits);
  return path == Path::graphics ? size_for_graphics(shape, options, *facts.traits)
                                : size_for_compute(shape, options, *facts.traits);
}

/// What a slice will draw into, as far as it is known before.
void describe_images(GroupByShape const& shape, GroupBySizing const& sizing, GroupByLimits const& limits, Plan& plan) {
  auto const groups = slice_groups(shape, sizing);
  if (has_keys(shape)) {
    auto const words = sizing.tuning.keys == KeyForm::rowid ? 0 : words_of_keys(shape);
    auto const attachments = key_attachments(words);
    auto const image = image_of(shape, sizing, limits);
    plan.details.emplace_back(
        "hash images",
        fmt::format("{} x {} pixels first, {} attachment{} of row id{}", image.width(), image.height, attachments,
                    attachments == 1 ? "" : "s",
                    words == 0 ? "s alone" : fmt::format(" and {} key word{}", words, words == 1 ? "" : "s")));
  }
  auto const pixels = groups * group_lanes(groups, sizing.tuning.spread, limits);
  plan.details.emplace_back("aggregates",
                            fmt::format("{}, about {} draws a row into {} pixels",
                                        limits.blend ? "by blending" : "by compute passes", shape.draws, pixels));
}

/// Chooses the upload by the bytes of a slice, and prices the path: CUDA as compute passes of the same GPU.
Candidate price_device(Path path, GroupByShape const& shape, DeviceFacts const& facts, HostRates const& host,
                       GroupBySizing& sizing) {
  auto const parts = std::uint64_t{1} << (has_keys(shape) ? sizing.radix_bits : 0);
  auto const slice = std::min(sizing.slice_rows, shape.rows / parts + 1);
  DeviceCut cut;
  cut.radix_bits = has_keys(shape) ? sizing.radix_bits : 0;
  cut.lanes = sizing.lanes;
  cut.slices = parts * slices_for(shape.rows / parts + 1, sizing.slice_rows);
  cut.pixels = sizing.pixels * static_cast<double>(cut.slices);
  auto const bytes = static_cast<double>(slice) * static_cast<double>(key_bytes(shape) + 4 * shape.value_words);
  if (sizing.tuning.upload == Upload::automatic)
    sizing.tuning.upload = upload_of(cheapest_upload(facts.rates(), *facts.traits, bytes));
  cut.upload = mode_of(sizing.tuning.upload);
  Candidate candidate;
  candidate.path = path;
  candidate.device = facts.info->name;
  candidate.choices = to_string(sizing.tuning);
  if (sizing.tuning.radix_bits < 0) candidate.choices += fmt::format(",radix_bits={}", cut.radix_bits);
  set_phases(candidate, path == Path::graphics ? graphics_group_by_costs(shape, cut, facts.rates(), host)
                                               : compute_group_by_costs(shape, cut, facts.rates(), host));
  candidate.reason = source_of(facts);
  return candidate;
}

/// The ways to run, and the sizes of each.
struct GroupByWays {
  std::vector<PathOption> options;
  std::vector<GroupBySizing> sizings;
};

std::uint64_t most_host_bytes(GroupByShape const& shape, GroupByOptions const& options) {
  return options.memory_limit_bytes != 0 ? options.memory_limit_bytes : shape.free_host_bytes / 4 * 3;
}

Result<void> add_cpu(GroupByShape const& shape, Machine const& machine, GroupByOptions const& options,
                     GroupByWays& ways) {
  auto sizing = size_for_cpu(shape, options.tuning);
  SliceCut const slices{sizing.radix_bits, sizing.slice_rows};
  GARUDA_TRY_ASSIGN(auto priced, cpu_group_by_ways(shape, options.tuning, machine.host(shape.threads), slices,
                                                   most_host_bytes(shape, options) / 2));
  for (auto& way : priced) {
    Candidate candidate;
    candidate.path = Path::cpu;
    candidate.device = "cpu";
    candidate.choices = fmt::format("grouping={}", to_string(way.grouping));
    if (way.grouping == Grouping::slices) candidate.choices += fmt::format(",radix_bits={}", sizing.radix_bits);
    candidate.reason =
        fmt::format("{} rates, {} threads", machine.measured_host ? "measured" : "assumed", shape.threads);
    set_phases(candidate, std::move(way.costs));
    sizing.grouping = way.grouping;
    sizing.whole_bytes = way.bytes;
    sizing.grouping_reason = std::move(way.reason);
    ways.sizings.push_back(sizing);
    ways.options.push_back({std::move(candidate), std::nullopt});
  }
  return {};
}

/// `least`, and through the graphics pipeline sizes with more partitions, whose draws are smaller.
Result<std::vector<GroupBySizing>> sizings_of(Path path, GroupByShape const& shape, GroupByOptions const& options,
                                              DeviceFacts const& facts, GroupBySizing const& least) {
  std::vector<GroupBySizing> sizings{least};
  if (path != Path::graphics || options.tuning.radix_bits >= 0 || !has_keys(shape)) return sizings;
  for (auto const bits : device_radix_bits(least.radix_bits, shape.rows)) {
    if (bits == least.radix_bits) continue;
    auto forced = options;
    forced.tuning.radix_bits = static_cast<std::int32_t>(bits);
    GARUDA_TRY_ASSIGN(auto sizing, size_for_graphics(shape, forced, *facts.traits));
    sizing.tuning.radix_bits = options.tuning.radix_bits;
    sizings.push_back(std::move(sizing));
  }
  return sizings;
}

Result<GroupByWays> list_ways(GroupByShape const& shape, Machine const& machine, GroupByOptions const& options,
                              std::optional<std::size_t> requested) {
  auto const host = machine.host(shape.threads);
  GroupByWays ways;
  // A grouping that the keys do not allow is no one's business when a device was asked for.
  auto added = add_cpu(shape, machine, options, ways);
  if (!added && !requested) return propagate(std::move(added));
  for (std::size_t i = 0; i < machine.devices.size(); ++i) {
    auto const& facts = machine.devices[i];
    for (auto const path : paths_of(facts)) {
      if (find_group_by_path(path) == nullptr) continue;
      auto sizing = size_for_device(path, shape, options, facts);
      bool const is_asked =
          requested == i && path == (options.path == Path::automatic ? paths_of(facts).front() : options.path);
      if (!sizing && facts.info->usable && is_asked) return propagate(std::move(sizing));
      if (!sizing) {
        ways.sizings.emplace_back();
        ways.options.push_back(refused(path, facts, i, sizing.error().message()));
        continue;
      }
      bool const is_idle = facts.traits->type == vk::DeviceType::cpu && requested != i;
      std::vector<GroupBySizing> sizings{*sizing};
      if (!is_idle) {
        GARUDA_TRY_ASSIGN(sizings, sizings_of(path, shape, options, facts, *sizing));
      }
      for (auto each : sizings) {
        auto candidate = price_device(path, shape, facts, host, each);
        if (is_idle) candidate.reason = "a software device: not taken unless asked for";
        ways.sizings.push_back(std::move(each));
        ways.options.push_back({std::move(candidate), i});
      }
    }
  }
  return ways;
}

/// Host memory of a run, beside the inputs and the result's chunks.
std::uint64_t host_bytes(GroupByShape const& shape, GroupBySizing const& sizing) {
  auto const row_ids = std::uint64_t{shape.wide_row_ids ? 8U : 4U};
  auto const partitioned =
      sizing.radix_bits == 0 ? 0 : shape.rows * (std::max<std::uint64_t>(shape.key_bits, 32) / 8 + row_ids);
  auto const slice_rows = std::min(sizing.slice_rows, (shape.rows >> sizing.radix_bits) + 1);
  auto const slices =
      std::min<std::uint64_t>(sizing.lanes, (std::uint64_t{1} << sizing.radix_bits) + shape.rows / sizing.slice_rows);
  auto const per_row = 4 * std::uint64_t{shape.value_words} + 4 * std::uint64_t{shape.key_words} + 8;
  auto const kept = shape.ordered ? shape.estimated_groups : shape.estimated_groups >> sizing.radix_bits;
  auto const per_group = 2 * (shape.state_bytes + 8 + key_bytes(shape));
  return shape.encoded_bytes + partitioned + slices * slice_rows * per_row + (kept + 1) * per_group;
}

/// Makes slices and partitions smaller until a run fits the memory limit; what is left decides the rows of a chunk.
Result<void> fit_host_memory(GroupByShape const& shape, GroupByOptions const& options, GroupBySizing& sizing,
                             Plan& plan) {
  auto const limit = most_host_bytes(shape, options);
  auto const has_limit = limit != 0;
  while (has_limit && options.tuning.slice_rows == 0 && sizing.slice_rows > kSmallestCpuSliceRows &&
         host_bytes(shape, sizing) > limit / 2)
    sizing.slice_rows /= 2;
  while (has_limit && options.tuning.radix_bits < 0 && has_keys(shape) &&
         sizing.radix_bits < partition::kMaxRadixBits && host_bytes(shape, sizing) > limit / 2 &&
         (shape.estimated_groups >> sizing.radix_bits) > kSmallestChunkRows)
    ++sizing.radix_bits;
  auto const used = host_bytes(shape, sizing);
  if (has_limit && used > limit)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("keys, values and groups of {} rows need {} bytes of host memory, over the limit: {}",
                            shape.rows, used, limit));
  auto const per_row = 3 * shape.output_row_bytes + 24;
  auto const free_bytes = has_limit ? limit - used : std::numeric_limits<std::uint64_t>::max();
  plan.chunk_rows = options.tuning.chunk_rows != 0 ? options.tuning.chunk_rows : chunk_rows_for(free_bytes, per_row);
  plan.host_bytes = used + std::min(plan.chunk_rows, shape.estimated_groups) * per_row;
  return {};
}

}  // namespace

Result<GroupByPlan> plan_group_by(GroupByShape const& shape, Machine const& machine, GroupByOptions const& options) {
  auto const& devices = machine.devices;
  GARUDA_TRY(check_path(options, find_group_by_path(options.path) != nullptr));
  GARUDA_TRY_ASSIGN(auto const requested, requested_device(devices, options));
  GARUDA_TRY_ASSIGN(auto ways, list_ways(shape, machine, options, requested));
  GARUDA_TRY_ASSIGN(auto const best, choose_option(ways.options, devices, options, requested));
  auto& sizing = ways.sizings[best];

  GroupByPlan result;
  auto& plan = result.plan;
  describe_choice(ways.options[best], machine, options, plan);
  plan.estimated = ways.options[best].candidate;
  GARUDA_TRY(fit_host_memory(shape, options, sizing, plan));
  result.tuning = sizing.tuning;
  result.device = ways.options[best].device;
  result.slice_groups = slice_groups(shape, sizing);
  plan.key_bits = shape.key_bits;
  auto const is_sliced = sizing.grouping == Grouping::slices;
  result.grouping = sizing.grouping;
  plan.radix_bits = has_keys(shape) && is_sliced ? sizing.radix_bits : 0;
  plan.host_bytes += sizing.whole_bytes;
  plan.slice_rows = sizing.slice_rows;
  plan.lanes = sizing.lanes;
  plan.device_bytes = sizing.device_bytes;
  plan.tuning = to_string(result.tuning);
  if (plan.path == Path::graphics) {
    GARUDA_TRY_ASSIGN(auto const limits, group_by_limits(*devices[*result.device].traits, result.tuning));
    describe_images(shape, sizing, limits, plan);
  }
  plan.details.emplace_back("grouping", fmt::format("{}: {}", to_string(sizing.grouping), sizing.grouping_reason));
  for (auto& option : ways.options) plan.candidates.push_back(std::move(option.candidate));
  return result;
}

}  // namespace garuda::operators
