#include "operators/compute/condition_join/condition_offers.hpp"

#include <fmt/format.h>

#include <utility>

#include "operators/compute/condition_join/condition_join.hpp"
#include "operators/compute/condition_join/condition_program.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::compute {
namespace {

/// Rows of a side of a slice: its comparisons take longer by far than bringing it to the device, and progress is seen.
constexpr std::uint64_t kSliceRows = std::uint64_t{1} << 20;
/// Comparisons of a device in the time in which it streams a byte, of words in shared memory and registers, where its
/// rate of comparisons was not measured. A GPU's arithmetic is ahead of its memory; a software device's is not.
constexpr double kComparisonsOfByte = 1.5;
constexpr double kSoftwareComparisonsOfByte = 0.1;
/// Cost of a program's step, which reads its operands anew for each pair, in comparisons.
constexpr double kStepComparisons = 16;
/// A pass that writes pairs, in passes that count.
constexpr double kPairPasses = 2;

double compared_pairs_per_s(contract::DeviceFacts const& facts) {
  if (facts.rates().comparisons_per_s > 0) return facts.rates().comparisons_per_s;
  return facts.rates().streamed_bytes_per_s * (facts.is_software() ? kSoftwareComparisonsOfByte : kComparisonsOfByte);
}

/// Comparisons of a pair of rows, each of 32 bits.
double comparisons_of_pair(contract::JoinShape const& shape, expr::ConditionParts const& parts) {
  if (!is_simple(parts)) return kStepComparisons * static_cast<double>(2 * parts.cross.size() + parts.rest.size());
  double comparisons = 0;
  for (auto const& comparison : parts.cross) comparisons += shape.condition->left[comparison.left].is_wide() ? 3 : 1;
  return comparisons;
}

double uploaded_bytes(contract::JoinShape const& shape) {
  double bytes = 0;
  for (auto const side : {Side::left, Side::right})
    for (auto const& column : shape.condition->of(side))
      bytes += contract::rows_of(shape, side) * (column.is_wide() ? 8 : 4);
  return bytes;
}

contract::DeviceCut cut_slices(contract::JoinInquiry const& inquiry, contract::JoinOffer& offer) {
  auto const& shape = inquiry.shape;
  auto const slices = std::max<std::uint64_t>(contract::slices_for(shape.left.rows, offer.slice_rows) *
                                                  contract::slices_for(shape.right.rows, offer.slice_rows),
                                              1);
  return contract::cut_join(inquiry, offer, slices, uploaded_bytes(shape) / static_cast<double>(slices));
}

contract::PhaseCosts costs_of(contract::JoinInquiry const& inquiry, contract::DeviceCut const& cut,
                              expr::ConditionParts const& parts) {
  auto const& shape = inquiry.shape;
  auto const rates = inquiry.facts().rates();
  auto const pass = contract::rows_of(shape, Side::left) * contract::rows_of(shape, Side::right) *
                    comparisons_of_pair(shape, parts) / compared_pairs_per_s(inquiry.facts()) * contract::kNs;
  double marks = 0;
  for (auto const side : {Side::left, Side::right}) marks += contract::is_marked(shape, side) ? pass : 0;
  auto const pairs = contract::matches(shape);
  return {{"start", inquiry.host.query_ns},
          {"open", contract::open_ns(cut, rates)},
          {"upload", contract::upload_ns(uploaded_bytes(shape), cut, rates)},
          {"count", shape.parts.pairs ? pass : 0},
          {"probe", pass * kPairPasses * std::min(pairs / std::max(contract::probe_rows(shape), 1.0), 1.0)},
          {"wait", contract::submissions_ns(contract::kJoinSubmissions, cut, rates)},
          {"mark", marks},
          {"download", pairs * 8 / rates.download_bytes_per_s * contract::kNs},
          {"gather", shape.output.empty() ? 0 : contract::consumed_ns(shape, cut, inquiry.host)}};
}

}  // namespace

Result<contract::JoinOffers> compute_condition_offers(contract::JoinInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  if (inquiry.options.tuning.method == JoinMethod::sorted_ranges)
    return fail(ErrorCode::usage, "method=sorted_ranges is of path cpu");
  auto const parts = expr::parts_of(*shape.condition);
  if (!fits_passes(parts))
    return fail(ErrorCode::no_device, "the condition keeps more results at a time than the passes do");
  GARUDA_TRY(compute_tuning(*inquiry.facts().vulkan));
  auto offer = contract::device_join_offer(Path::compute, inquiry);
  offer.key_bits = 0;
  offer.tuning.method = JoinMethod::nested_loops;
  auto const bytes_of = [&](std::uint64_t rows) {
    return compute_condition_join_bytes(*shape.condition, std::min(shape.left.rows, rows),
                                        std::min(shape.right.rows, rows));
  };
  auto const asked = inquiry.options.tuning.slice_rows;
  contract::size_slices(inquiry, shape.larger_rows(), asked != 0 ? asked : kSliceRows, bytes_of, offer);
  offer.device_bytes = bytes_of(std::min(offer.slice_rows, shape.larger_rows())) * offer.lanes;
  auto const cut = cut_slices(inquiry, offer);
  JoinTuning chosen;
  chosen.method = offer.tuning.method;
  chosen.upload = offer.tuning.upload;
  chosen.chunk_rows = static_cast<std::uint32_t>(offer.chunk_rows);
  offer.candidate.choices = to_string(chosen);
  contract::set_phases(offer.candidate, costs_of(inquiry, cut, parts));
  return contract::JoinOffers{{std::move(offer)}, {}};
}

}  // namespace garuda::compute
