#include "operators/join_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "operators/compute/compute_join.hpp"
#include "operators/cost_model.hpp"
#include "operators/cpu/cpu_join.hpp"
#include "operators/cpu_join_ways.hpp"
#include "operators/cuda/cuda_join.hpp"
#include "operators/graphics/graphics_choice.hpp"
#include "operators/join_kernel.hpp"
#include "operators/join_registry.hpp"
#include "operators/sizing.hpp"
#include "operators/sorted_join_costs.hpp"
#include "operators/upload_mode.hpp"

namespace garuda::operators {
namespace {

constexpr std::uint32_t kResultEdge = 2048;
constexpr std::uint32_t kStackLimit = 8;
constexpr std::uint64_t kSmallestCpuSliceRows = 4096;

std::uint64_t rows_of(JoinShape const& shape) { return shape.rows_left + shape.rows_right; }

std::uint64_t larger_side(JoinShape const& shape) { return std::max(shape.rows_left, shape.rows_right); }

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

struct JoinSizing : Sizing<JoinTuning> {
  CpuJoinWay cpu;                                ///< on the CPU path
  std::uint64_t chunk_rows = kLargestChunkRows;  ///< wanted; what memory is left may allow less
};

JoinSizing size_for_cpu(JoinShape const& shape, JoinTuning const& tuning, CpuJoinWay way) {
  JoinSizing sizing;
  sizing.tuning = tuning;
  sizing.radix_bits = way.radix_bits;
  sizing.lanes = tuning.lanes != 0 ? tuning.lanes : shape.threads;
  if (tuning.slice_rows != 0) sizing.slice_rows = tuning.slice_rows;
  sizing.chunk_rows = way.chunk_rows;
  sizing.tuning.build = way.build;
  sizing.cpu = std::move(way);
  return sizing;
}

Result<JoinSizing> size_for_graphics(JoinShape const& shape, JoinOptions const& options,
                                     vk::DeviceTraits const& traits) {
  JoinSizing sizing;
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
                                                     : radix_bits_for(larger_side(shape), target);
  sizing.device_bytes = bytes_of(std::min(sizing.slice_rows, (larger_side(shape) >> sizing.radix_bits) + 1));
  return sizing;
}

/// Sides larger than a slice, which one pass partitions on the device, are cut by partitioning on the host.
Result<JoinSizing> size_for_compute(JoinShape const& shape, JoinOptions const& options, JoinMethod method,
                                    vk::DeviceTraits const& traits) {
  JoinSizing sizing;
  sizing.tuning = options.tuning;
  sizing.tuning.method = method;
  sizing.lanes = options.tuning.lanes != 0 ? options.tuning.lanes : 2;
  GARUDA_TRY_ASSIGN(auto const tuning, compute_tuning(traits));
  auto const budget =
      options.device_memory_limit_bytes != 0 ? options.device_memory_limit_bytes : traits.device_local_bytes() / 4 * 3;
  sizing.slice_rows = options.tuning.slice_rows != 0 ? options.tuning.slice_rows : kMaxPassRows;
  auto const bytes_of = [&](std::uint64_t rows) {
    auto const left = std::min(shape.rows_left, rows);
    auto const right = std::min(shape.rows_right, rows);
    return compute_join_bytes(left, right, shape.key_bits, method, tuning, shape.expected_matches > 0) * sizing.lanes;
  };
  while (sizing.slice_rows > kSmallestDeviceSliceRows && bytes_of(sizing.slice_rows) > budget) sizing.slice_rows /= 2;
  sizing.radix_bits = options.tuning.radix_bits >= 0 ? static_cast<std::uint32_t>(options.tuning.radix_bits)
                                                     : radix_bits_for(larger_side(shape), sizing.slice_rows);
  sizing.device_bytes = bytes_of(std::min(sizing.slice_rows, (larger_side(shape) >> sizing.radix_bits) + 1));
  return sizing;
}

std::uint64_t slices_of(JoinShape const& shape, JoinSizing const& sizing) {
  auto const parts = std::uint64_t{1} << sizing.radix_bits;
  auto const of_side = [&](std::uint64_t rows) {
    auto const part = rows / parts + 1;
    return (part + sizing.slice_rows - 1) / sizing.slice_rows;
  };
  return parts * of_side(shape.rows_left) * of_side(shape.rows_right);
}

/// What every candidate is priced with.
struct Pricing {
  JoinShape const& shape;
  Machine const& machine;
  JoinOptions const& options;
  HostRates host;
  std::optional<std::size_t> requested;  ///< device
};

/// Upload is chosen by the bytes of a slice's keys.
DeviceCut cut_for(Pricing const& pricing, DeviceFacts const& facts, JoinSizing& sizing) {
  auto const& shape = pricing.shape;
  DeviceCut cut;
  sizing.chunk_rows = device_chunk_rows(shape, pricing.host);
  cut.chunk_rows = sizing.chunk_rows;
  cut.radix_bits = sizing.radix_bits;
  cut.lanes = sizing.lanes;
  cut.slices = slices_of(shape, sizing);
  auto const bytes = static_cast<double>(rows_of(shape) / cut.slices + 1) * shape.key_bits / 8;
  if (sizing.tuning.upload == Upload::automatic)
    sizing.tuning.upload = upload_of(cheapest_upload(facts.rates(), *facts.traits, bytes));
  cut.upload = mode_of(sizing.tuning.upload);
  return cut;
}

/// "upload=stage,radix_bits=2,chunk_rows=524288".
std::string to_string(DeviceCut const& cut) {
  return fmt::format("upload={},radix_bits={},chunk_rows={}", to_string(cut.upload), cut.radix_bits, cut.chunk_rows);
}

Candidate candidate_of(Path path, DeviceFacts const& facts, JoinSizing const& sizing) {
  Candidate candidate;
  candidate.path = path;
  candidate.device = facts.info->name;
  candidate.choices = to_string(sizing.tuning);
  candidate.reason = source_of(facts);
  return candidate;
}

/// Pixels of the images of all partitions with one layer each; nothing when a range does not fit an image.
std::optional<double> pixels_of(JoinShape const& shape, Address address, JoinSizing const& sizing,
                                GraphicsLimits const& limits) {
  auto const parts = std::uint64_t{1} << sizing.radix_bits;
  auto const build_is_left = shape.rows_left <= shape.rows_right;
  auto const rows = std::min(shape.rows_left, shape.rows_right) / parts + 1;
  if (address == Address::hash) return static_cast<double>(parts * hash_image(rows, limits).pixels());
  auto const range = build_is_left ? shape.key_range_left : shape.key_range_right;
  SideShape side{rows, 0, range == 0 ? ~std::uint64_t{0} : (range - 1) / parts, 0};
  auto const chosen = choose_address(side, sizing.tuning.address, limits);
  if (!chosen || !chosen->direct) return std::nullopt;
  return static_cast<double>(parts * chosen->image.pixels());
}

/// Whether matches may be found so: what was not measured is drawn, unless compute passes are asked for.
bool is_open(Matching matching, JoinTuning const& tuning, bool is_measured) {
  if (tuning.matching != Matching::automatic) return matching == tuning.matching;
  return matching == Matching::draw || (is_measured && tuning.probe != Probe::atomic);
}

/// The same of what counts; matches that are drawn leave statistics to blending unless these are asked for otherwise.
bool is_open(Counting counting, Matching matching, JoinTuning const& tuning, bool is_measured, bool can_blend) {
  if (!can_blend) return counting == Counting::compute;
  if (tuning.counting != Counting::automatic) return counting == tuning.counting;
  return counting == Counting::blend || (is_measured && matching == Matching::compute);
}

/// The ways that the tuning and the device leave open.
std::vector<GraphicsWay> ways_of(JoinTuning const& tuning, bool is_measured, bool can_blend) {
  std::vector<GraphicsWay> ways;
  for (auto const address : {Address::direct, Address::hash})
    for (auto const storage : {Storage::stack, Storage::runs})
      for (auto const probe : {Probe::output, Probe::instanced, Probe::atomic}) {
        auto const is_asked = [](auto asked, auto value, auto automatic) {
          return asked == value || asked == automatic;
        };
        if (!is_asked(tuning.address, address, Address::automatic) ||
            !is_asked(tuning.storage, storage, Storage::automatic) || !is_asked(tuning.probe, probe, Probe::automatic))
          continue;
        // Runs have no layers to instance; the atomic probe is there to be compared with, never to be chosen.
        if (storage == Storage::runs && probe != Probe::output) continue;
        if (probe == Probe::atomic && tuning.probe != Probe::atomic) continue;
        for (auto const matching : {Matching::draw, Matching::compute})
          for (auto const counting : {Counting::blend, Counting::compute})
            if (is_open(matching, tuning, is_measured) && is_open(counting, matching, tuning, is_measured, can_blend))
              ways.push_back({address, storage, probe, matching, counting});
      }
  return ways;
}

/// The ways to run, and the sizes of each.
struct JoinWays {
  std::vector<PathOption> options;
  std::vector<JoinSizing> sizings;

  void add(Candidate candidate, std::optional<std::size_t> device, JoinSizing const& sizing) {
    options.push_back({std::move(candidate), device});
    sizings.push_back(sizing);
  }
};

std::uint64_t most_host_bytes(JoinShape const& shape, JoinOptions const& options) {
  return options.memory_limit_bytes != 0 ? options.memory_limit_bytes : shape.free_host_bytes / 4 * 3;
}

/// "radix_bits=8,payload=carry,chunk_rows=524288".
std::string to_string(CpuJoinWay const& way) {
  JoinTuning tuning;
  tuning.radix_bits = static_cast<std::int32_t>(way.radix_bits);
  if (way.radix_bits > 0) tuning.payload = way.carried.empty() ? Payload::gather : Payload::carry;
  tuning.chunk_rows = static_cast<std::uint32_t>(way.chunk_rows);
  tuning.build = way.build;
  return garuda::to_string(tuning);
}

void add_cpu(Pricing const& pricing, JoinWays& ways) {
  auto const& tuning = pricing.options.tuning;
  for (auto& priced :
       cpu_join_ways(pricing.shape, tuning, pricing.host, most_host_bytes(pricing.shape, pricing.options))) {
    Candidate candidate;
    candidate.path = Path::cpu;
    candidate.device = "cpu";
    candidate.choices = to_string(priced.way);
    candidate.reason = fmt::format("{} rates, {} threads", pricing.machine.measured_host ? "measured" : "assumed",
                                   pricing.shape.threads);
    set_phases(candidate, std::move(priced.costs));
    ways.add(std::move(candidate), std::nullopt, size_for_cpu(pricing.shape, tuning, std::move(priced.way)));
  }
}

/// The kernel chooses between ways slice by slice, from statistics that it takes; the candidates say what it is
/// expected to choose from and at what cost. Addresses need a key range that fits; without one only hashing is left.
Result<void> add_graphics_ways(Pricing const& pricing, std::size_t index, JoinSizing sizing, JoinWays& ways) {
  auto const& facts = pricing.machine.devices[index];
  GARUDA_TRY_ASSIGN(auto const limits, graphics_limits(*facts.traits, sizing.tuning));
  auto cut = cut_for(pricing, facts, sizing);
  for (auto const& way : ways_of(sizing.tuning, facts.measured.has_value(), limits.blend)) {
    auto const pixels = pixels_of(pricing.shape, way.address, sizing, limits);
    if (!pixels && sizing.tuning.address != Address::direct) continue;
    cut.pixels = pixels.value_or(0);
    auto candidate = candidate_of(Path::graphics, facts, sizing);
    candidate.choices = fmt::format("{},{}", to_string(way), to_string(cut));
    set_phases(candidate, graphics_join_costs(pricing.shape, way, cut, facts.rates(), pricing.host));
    auto sized = sizing;
    if (way.matching == Matching::compute) sized.tuning.matching = way.matching;
    // What the device cannot blend is counted so in any case, and remarked on.
    if (way.counting == Counting::compute && limits.blend) sized.tuning.counting = way.counting;
    ways.add(std::move(candidate), index, sized);
  }
  return {};
}

/// With as few partitions as images and memory allow, and with more, whose draws are smaller. What is not taken unasked
/// is priced one way only: a query of a few rows takes as long as pricing.
Result<void> add_graphics(Pricing const& pricing, std::size_t index, JoinWays& ways) {
  auto const& traits = *pricing.machine.devices[index].traits;
  GARUDA_TRY_ASSIGN(auto const least, size_for_graphics(pricing.shape, pricing.options, traits));
  bool const is_idle = traits.type == vk::DeviceType::cpu && pricing.requested != index;
  if (is_idle || pricing.options.tuning.radix_bits >= 0) return add_graphics_ways(pricing, index, least, ways);
  for (auto const bits : device_radix_bits(least.radix_bits, larger_side(pricing.shape))) {
    auto options = pricing.options;
    options.tuning.radix_bits = static_cast<std::int32_t>(bits);
    GARUDA_TRY_ASSIGN(auto sizing, size_for_graphics(pricing.shape, options, traits));
    sizing.tuning.radix_bits = pricing.options.tuning.radix_bits;
    GARUDA_TRY(add_graphics_ways(pricing, index, std::move(sizing), ways));
  }
  return {};
}

/// Sorting both sides is for those who ask for it: its passes are more, whatever the tables.
Result<void> add_compute(Pricing const& pricing, std::size_t index, JoinWays& ways) {
  auto const& facts = pricing.machine.devices[index];
  auto const asked = pricing.options.tuning.method;
  for (auto const method : {JoinMethod::partitioned, JoinMethod::global, JoinMethod::sorted}) {
    if (asked != method && (asked != JoinMethod::automatic || method == JoinMethod::sorted)) continue;
    GARUDA_TRY_ASSIGN(auto sizing, size_for_compute(pricing.shape, pricing.options, method, *facts.traits));
    auto const cut = cut_for(pricing, facts, sizing);
    auto candidate = candidate_of(Path::compute, facts, sizing);
    JoinTuning chosen;
    chosen.method = method;
    candidate.choices = fmt::format("{},{}", to_string(chosen), to_string(cut));
    auto costs = compute_join_costs(pricing.shape, cut, facts.rates(), pricing.host, method);
    if (method != JoinMethod::partitioned)
      costs = sorted_join_costs(std::move(costs), pricing.shape, method, cut, facts.rates());
    set_phases(candidate, std::move(costs));
    ways.add(std::move(candidate), index, sizing);
  }
  return {};
}

JoinSizing size_for_cuda(JoinShape const& shape, JoinOptions const& options, vk::DeviceTraits const& traits) {
  JoinSizing sizing;
  sizing.tuning = options.tuning;
  sizing.lanes = options.tuning.lanes != 0 ? options.tuning.lanes : 2;
  auto const budget =
      options.device_memory_limit_bytes != 0 ? options.device_memory_limit_bytes : traits.device_local_bytes() / 4 * 3;
  sizing.slice_rows = options.tuning.slice_rows != 0 ? options.tuning.slice_rows : kMaxPassRows;
  auto const bytes_of = [&](std::uint64_t rows) {
    return cuda_join_bytes(std::min(shape.rows_left, rows), std::min(shape.rows_right, rows), shape.key_bits) *
           sizing.lanes;
  };
  while (sizing.slice_rows > kSmallestDeviceSliceRows && bytes_of(sizing.slice_rows) > budget) sizing.slice_rows /= 2;
  sizing.radix_bits = options.tuning.radix_bits >= 0 ? static_cast<std::uint32_t>(options.tuning.radix_bits)
                                                     : radix_bits_for(larger_side(shape), sizing.slice_rows);
  sizing.device_bytes = bytes_of(std::min(sizing.slice_rows, (larger_side(shape) >> sizing.radix_bits) + 1));
  return sizing;
}

/// Priced as compute passes of the same GPU: both move the same bytes.
void add_cuda(Pricing const& pricing, std::size_t index, JoinWays& ways) {
  auto const& facts = pricing.machine.devices[index];
  auto sizing = size_for_cuda(pricing.shape, pricing.options, *facts.traits);
  auto const cut = cut_for(pricing, facts, sizing);
  auto candidate = candidate_of(Path::cuda, facts, sizing);
  candidate.choices = to_string(cut);
  set_phases(candidate, compute_join_costs(pricing.shape, cut, facts.rates(), pricing.host));
  ways.add(std::move(candidate), index, sizing);
}

Result<void> add_way(Path path, Pricing const& pricing, std::size_t index, JoinWays& ways) {
  auto const& info = *pricing.machine.devices[index].info;
  if (!info.usable) return fail(ErrorCode::no_device, info.reason);
  if (path == Path::graphics) return add_graphics(pricing, index, ways);
  if (path == Path::compute) return add_compute(pricing, index, ways);
  add_cuda(pricing, index, ways);
  return {};
}

Result<JoinWays> list_ways(Pricing const& pricing) {
  auto const& requested = pricing.requested;
  JoinWays ways;
  add_cpu(pricing, ways);
  for (std::size_t i = 0; i < pricing.machine.devices.size(); ++i) {
    auto const& facts = pricing.machine.devices[i];
    for (auto const path : paths_of(facts)) {
      if (find_join_path(path) == nullptr) continue;
      auto const first = ways.options.size();
      auto added = add_way(path, pricing, i, ways);
      // What was asked for and cannot run is an error; another path of the device may still take its place otherwise.
      bool const is_asked =
          requested == i && (pricing.options.path == path || (!added && added.error().code() == ErrorCode::usage));
      if (!added && facts.info->usable && is_asked) return propagate(std::move(added));
      if (!added) {
        ways.options.push_back(refused(path, facts, i, added.error().message()));
        ways.sizings.emplace_back();
      }
      if (facts.traits->type == vk::DeviceType::cpu && requested != i && added)
        for (auto w = first; w < ways.options.size(); ++w)
          ways.options[w].candidate.reason = "a software device: not taken unless asked for";
    }
  }
  return ways;
}

/// Shrinks the slices of the CPU path, then its lanes, until their tables take at most half of `free_bytes`.
/// Returns what they take then.
std::uint64_t bound_cpu_tables(JoinShape const& shape, std::uint64_t free_bytes, Plan& plan) {
  auto const rows = std::max<std::uint64_t>(larger_side(shape), 1);
  auto const bytes = [&] {
    auto const slice = std::min(plan.slice_rows, rows);
    return cpu_join_bytes(slice, slice, shape.key_bits) * plan.lanes;
  };
  while (bytes() > free_bytes / 2 && plan.slice_rows > kSmallestCpuSliceRows) plan.slice_rows /= 2;
  while (bytes() > free_bytes / 2 && plan.lanes > 1) plan.lanes /= 2;
  return bytes();
}

double output_row_bytes(JoinShape const& shape) {
  double bytes = 0;
  for (auto const& column : shape.output) bytes += column.bytes;
  return bytes;
}

/// Host memory: partitioned keys must fit; what is left decides the rows of a chunk.
Result<void> size_host_memory(JoinShape const& shape, JoinOptions const& options, JoinSizing const& sizing,
                              JoinPlan& result) {
  auto& plan = result.plan;
  auto const limit = most_host_bytes(shape, options);
  auto way = sizing.cpu;
  way.radix_bits = plan.radix_bits;
  auto const keys = shape.encoded_bytes + partitioned_bytes(shape, way);
  if (limit != 0 && keys > limit)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("the partitioned keys of {} rows need {} bytes of host memory, over the limit: {}",
                            rows_of(shape), keys, limit));
  auto free_bytes = limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit - keys;
  auto const tables = plan.path == Path::cpu ? bound_cpu_tables(shape, free_bytes, plan) : 0;
  free_bytes -= std::min(tables, free_bytes);
  auto const row_bytes = static_cast<std::uint64_t>(output_row_bytes(shape)) + 1;
  // Per row of a chunk: gathered columns, once more while they are written; pairs waiting, being made and being read.
  // Lanes of the CPU path make columns, not pairs: each a chunk, with row ids, beside two that wait and one being read.
  auto const per_row = plan.path == Path::cpu ? (row_bytes + 12) * (std::uint64_t{plan.lanes} + 3)
                                              : 3 * row_bytes + 24 * (std::uint64_t{plan.lanes} + 3);
  plan.chunk_rows = options.tuning.chunk_rows != 0 ? options.tuning.chunk_rows
                                                   : chunk_rows_for(free_bytes, per_row, sizing.chunk_rows);
  plan.host_bytes = keys + tables + plan.chunk_rows * per_row;
  return {};
}

}  // namespace

Result<JoinPlan> plan_join(JoinShape const& shape, Machine const& machine, JoinOptions const& options) {
  GARUDA_TRY(check_path(options, find_join_path(options.path) != nullptr));
  GARUDA_TRY_ASSIGN(auto const requested, requested_device(machine.devices, options));
  Pricing const pricing{shape, machine, options, machine.host(shape.threads), requested};
  GARUDA_TRY_ASSIGN(auto ways, list_ways(pricing));
  GARUDA_TRY_ASSIGN(auto const best, choose_option(ways.options, machine.devices, options, requested));
  auto const& sizing = ways.sizings[best];

  JoinPlan result;
  result.tuning = sizing.tuning;
  result.device = ways.options[best].device;
  result.carried = sizing.cpu.carried;
  if (result.device) result.rates = machine.devices[*result.device].measured;
  auto& plan = result.plan;
  describe_choice(ways.options[best], machine, options, plan);
  plan.details.emplace_back(
      "estimate",
      fmt::format("{:.3f} ms, {:.0f} rows", ways.options[best].candidate.estimated_ns * 1e-6, shape.expected_matches));
  plan.estimated = ways.options[best].candidate;
  plan.key_bits = shape.key_bits;
  plan.radix_bits = sizing.radix_bits;
  plan.slice_rows = sizing.slice_rows;
  plan.lanes = sizing.lanes;
  plan.device_bytes = sizing.device_bytes;
  plan.tuning = to_string(result.tuning);
  GARUDA_TRY(size_host_memory(shape, options, sizing, result));
  for (auto& option : ways.options) plan.candidates.push_back(std::move(option.candidate));
  return result;
}

}  // namespace garuda::operators
