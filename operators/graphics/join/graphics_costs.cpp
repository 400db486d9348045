#include "operators/graphics/join/graphics_costs.hpp"

#include <algorithm>
#include <cmath>

#include "operators/contract/group_by_terms.hpp"
#include "operators/contract/join_terms.hpp"
#include "operators/graphics/join/graphics_choice.hpp"

namespace garuda::graphics {
namespace {

/// Layers of hash images: rows that share a pixel are layers of a stack.
struct Clashes {
  double layers = 1;  ///< of the fullest pixel
  double drawn = 0;   ///< points that are not clipped while the stack is built
};

/// The fullest of `pixels` pixels that `rows` rows fall on at random: the least k that fewer than one pixel exceeds
/// (Poisson).
double fullest_pixel(double rows, double pixels) {
  auto const load = rows / pixels;
  auto term = std::exp(-load);
  auto above = 1 - term;
  double k = 0;
  while (above * pixels >= 1 && k < 64) {
    k += 1;
    term *= load / k;
    above -= term;
  }
  return std::max(k, 1.0);
}

Clashes clashes_of(contract::JoinShape const& shape, Address address, double pixels) {
  auto const rows = std::max(contract::build_rows(shape), 1.0);
  auto const distinct = contract::distinct_of(shape, contract::smaller_side(shape));
  auto const heaviest = shape.of(contract::smaller_side(shape)).heaviest;
  auto const multiplicity = std::max(rows / distinct, heaviest * rows);
  Clashes clashes;
  auto const fullest = address == Address::direct ? 1.0 : fullest_pixel(distinct, std::max(pixels, 1.0));
  clashes.layers = std::max(fullest * rows / distinct, multiplicity);
  auto const load = address == Address::direct ? 0 : distinct / std::max(pixels, 1.0);
  clashes.drawn = rows * (1 + load / 2) * (1 + (rows / distinct - 1) / 2);
  return clashes;
}

}  // namespace

std::string to_string(GraphicsStrategy const& strategy) {
  JoinTuning tuning;
  tuning.address = strategy.address;
  tuning.storage = strategy.storage;
  tuning.probe = strategy.probe;
  if (strategy.matching == Matching::compute) tuning.matching = strategy.matching;
  return to_string(tuning);
}

contract::PhaseCosts graphics_join_costs(contract::JoinShape const& shape, GraphicsStrategy const& strategy,
                                         contract::DeviceCut const& cut, rates::DeviceRates const& whole_rates,
                                         rates::HostRates const& host) {
  auto const build = contract::build_rows(shape);
  auto const probe = contract::probe_rows(shape);
  auto const rates = rates::rates_of_slices(whole_rates, probe / static_cast<double>(cut.slices));
  auto const out = contract::pairs_made(shape);
  auto const clashes = clashes_of(shape, strategy.address, cut.pixels);
  auto const is_stack = strategy.storage == Storage::stack;
  auto const layers = is_stack ? clashes.layers : 1;
  auto const points = layers * probe;  // instances of the probe side
  auto const counted = strategy.blends ? contract::random_blend_ns(build, rates) + contract::clear_ns(cut.pixels, rates)
                                       : contract::atomic_ns(build, rates) + contract::stream_ns(4 * cut.pixels, rates);
  auto const statistics = counted + contract::stream_ns(4 * cut.pixels, rates);
  auto const stack_build = contract::random_ns(clashes.drawn, rates) +
                           contract::clipped_ns(std::max(layers * build - clashes.drawn, 0.0), rates) +
                           contract::clear_ns(layers * cut.pixels, rates) +
                           contract::stream_ns(8 * layers * cut.pixels, rates);
  auto const runs_build = contract::atomic_ns(kRunAtomics * build, rates) +
                          contract::read_ns(kRunReads * build, rates) + contract::stream_ns(8 * cut.pixels, rates);
  auto const drawn_stack_count = contract::ordered_blend_ns(std::min(out, points), rates) +
                                 contract::clipped_ns(std::max(points - out, 0.0), rates) +
                                 contract::read_ns(points, rates);
  auto const drawn_runs_count = contract::ordered_ns(probe, rates) + contract::read_ns(2 * probe, rates);
  auto const is_output = strategy.probe == Probe::output;
  auto const drawn_count = (is_stack ? drawn_stack_count : drawn_runs_count) + contract::clear_ns(probe, rates);
  auto const drawn = is_output
                         ? contract::ordered_ns(out, rates) + contract::read_ns(kSearchReads * out, rates)
                         : contract::ordered_ns(out, rates) + contract::clipped_ns(std::max(points - out, 0.0), rates);
  // Compute passes stop at a pixel's first empty layer, and instances of a row are one invocation.
  auto const matched_rows = contract::stream_ns(kMatchedRowBytes * probe, rates);
  auto const computed_count = matched_rows + contract::read_ns(is_stack ? points : kRunLookups * probe, rates);
  auto const computed =
      (is_output ? contract::read_ns((1 + kSearchReads) * out, rates) : matched_rows + contract::read_ns(out, rates)) +
      contract::stream_ns(8 * out, rates);
  bool const is_drawn = strategy.matching != Matching::compute;
  bool const count_is_drawn = is_drawn && (strategy.blends || !is_stack);
  auto const keys_bytes = (build + probe) * shape.key_bits / 8.0;
  return {{"start", host.query_ns},
          {"encode", contract::encode_ns(contract::rows_of(shape), host)},
          {"partition",
           contract::partition_ns(contract::rows_of(shape), contract::join_row_bytes(shape), cut.radix_bits, host)},
          {"open", contract::open_ns(cut, rates)},
          {"upload", contract::upload_ns(keys_bytes, cut, rates)},
          {"statistics", statistics},
          {"build", is_stack ? stack_build : runs_build},
          {"count", count_is_drawn ? drawn_count : computed_count},
          {"prefix", contract::stream_ns(16 * probe, rates)},
          {"probe", (is_drawn ? drawn : computed) + contract::submissions_ns(contract::kJoinSubmissions, cut, rates)},
          {"mark", contract::mark_ns(shape, cut, rates)},
          {"condition", contract::condition_ns(shape, host)},
          {"download", out * 8 / rates.download_bytes_per_s * contract::kNs},
          {"gather", contract::consumed_ns(shape, cut, host)}};
}

std::uint32_t draws_a_row(contract::GroupByShape const& shape) noexcept {
  std::uint32_t draws = 0;
  for (auto const& request : shape.requests) {
    auto const kind = request.kind;
    auto const states = request.states;
    if ((states & contract::kCountState) != 0) ++draws;
    if ((states & contract::kSumState) != 0) draws += contract::is_float(kind) ? 3 : 1;
    // Pieces of 24 bits. Bytes are compared on the host.
    if ((states & (contract::kMinState | contract::kMaxState)) != 0 && kind != contract::ValueKind::bytes)
      draws += contract::value_words(kind) + 1;
  }
  return draws;
}

contract::PhaseCosts graphics_group_by_costs(contract::GroupByShape const& shape, contract::DeviceCut const& cut,
                                             rates::DeviceRates const& whole_rates, rates::HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const rates = rates::rates_of_slices(whole_rates, rows / static_cast<double>(cut.slices));
  auto const groups = static_cast<double>(shape.estimated_groups);
  // Groups beyond one a pixel are drawn again, into the next image.
  auto const load = groups / std::max(cut.pixels, 1.0);
  auto const again = std::min(load / 2, 3.0);
  auto const uploaded = rows * (contract::group_key_bytes(shape) + 4.0 * shape.value_words);
  return {
      {"start", host.query_ns},
      {"encode", contract::encode_ns(rows, host)},
      {"partition", contract::group_partition_ns(shape, cut.radix_bits, host)},
      {"open", contract::open_ns(cut, rates)},
      {"upload", contract::upload_ns(uploaded, cut, rates)},
      {"group", contract::random_ns(rows * (1 + again), rates) + contract::clear_ns(cut.pixels * (1 + again), rates) +
                    contract::read_ns(2 * rows * (1 + again), rates) + contract::stream_ns(24 * rows, rates)},
      {"aggregate", contract::random_blend_ns(rows * draws_a_row(shape), rates) +
                        contract::clear_ns(8 * groups, rates) +
                        contract::submissions_ns(contract::kGroupBySubmissions, cut, rates)},
      {"download", groups * static_cast<double>(contract::state_bytes(shape.requests) + 4) /
                       rates.download_bytes_per_s * contract::kNs},
      {"merge", contract::device_merge_ns(shape, cut)}};
}

}  // namespace garuda::graphics
