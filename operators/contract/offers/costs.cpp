#include "operators/contract/offers/costs.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "expr/sides.hpp"

namespace garuda::contract {
namespace {

/// Values gathered at positions that ascend, as of a column that stays in a core's cache.
constexpr double kOrderedGatherBytes = 1 << 17;
/// Bytes of a value that a gather's rate was measured with, and of the cache line that a random one moves.
constexpr double kMeasuredValueBytes = 4;
constexpr double kLineBytes = 64;
constexpr double kEntryBytes = 4;
/// Rows of batches to choose from.
constexpr std::array kChunkRows{std::uint64_t{1} << 17, kLargestChunkRows, std::uint64_t{1} << 21};
/// A batch begun and handed over, beside its rows (AMD EPYC, Zen 4, 2 threads, batches of 2^10 and 2^19 rows of three
/// columns, 2026-11-21).
constexpr double kBatchNs = 30e3;
/// A pair that a lane's thread takes from a device and turns into row ids (Intel Xeon beside an H200, CUDA path: 2.2 of
/// 2^22, 3.5 of 2^24 rows, 2026-11-28).
constexpr double kEmittedPairNs = 3.5;
/// Groups of a device's slices on the host: merged where there are several slices, then finished, by one thread (Intel
/// Xeon beside an H200, 2^16 to 2^22 groups of one sum, 2026-11-21).
constexpr double kMergedGroupNs = 85;
constexpr double kFinishedGroupNs = 35;

double output_row_bytes(JoinShape const& shape) {
  double bytes = 0;
  for (auto const& column : shape.output) bytes += column.bytes;
  return bytes;
}

std::uint64_t slices_of(JoinShape const& shape, JoinOffer const& offer) {
  auto const parts = std::uint64_t{1} << offer.radix_bits;
  auto const of_side = [&](std::uint64_t rows) { return slices_for(rows / parts + 1, offer.slice_rows); };
  return parts * of_side(shape.left.rows) * of_side(shape.right.rows);
}

template <class Inquiry, class Offer>
void choose_upload(Inquiry const& inquiry, double slice_bytes, Offer& offer, DeviceCut& cut) {
  auto const& facts = inquiry.facts();
  if (offer.tuning.upload == Upload::automatic)
    offer.tuning.upload =
        facts.vulkan == nullptr ? Upload::stage : upload_of(cheapest_upload(facts.rates(), *facts.vulkan, slice_bytes));
  cut.upload = mode_of(offer.tuning.upload);
}

}  // namespace

double total_ns(PhaseCosts const& costs) {
  double total = 0;
  for (auto const& [phase, ns] : costs) total += ns;
  return total;
}

vk::UploadMode cheapest_upload(rates::DeviceRates const& rates, vk::DeviceTraits const& traits, double bytes) {
  if (traits.imports_in_place()) return vk::UploadMode::import_host;
  auto best = vk::UploadMode::stage;
  auto const consider = [&](vk::UploadMode mode, bool has) {
    auto const rate = rates::upload_rate(rates, mode);
    if (has && rate.bytes_per_s > 0 && rate.ns(bytes) < rates::upload_rate(rates, best).ns(bytes)) best = mode;
  };
  consider(vk::UploadMode::map, traits.device_memory_mappable());
  consider(vk::UploadMode::import_host, traits.features.external_memory_host);
  return best;
}

PhaseCosts sliced_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, rates::DeviceRates const& rates,
                                 rates::HostRates const& host, double group_ns, double aggregate_ns) {
  auto const rows = static_cast<double>(shape.rows);
  auto const groups = groups_of(shape);
  auto const slices_a_part = std::max(static_cast<double>(cut.slices) / partitions(cut.radix_bits), 1.0);
  auto const merged = slices_a_part > 1 ? groups * slices_a_part : 0;
  return {
      {"start", host.query_ns},
      {"encode", encode_ns(rows, host)},
      {"partition", group_partition_ns(shape, cut.radix_bits, host)},
      {"open", open_ns(cut, rates)},
      {"upload", upload_ns(rows * (group_key_bytes(shape) + 4.0 * shape.value_words), cut, rates)},
      {"group", group_ns},
      {"aggregate", aggregate_ns + submissions_ns(kGroupBySubmissions, cut, rates)},
      {"download", groups * static_cast<double>(state_bytes(shape.requests) + 4) / rates.download_bytes_per_s * kNs},
      {"merge", merged * kMergedGroupNs + groups * kFinishedGroupNs}};
}

double taken_ns(double values, double bytes, double source_bytes, rates::HostRates const& host) {
  auto const is_cached = source_bytes <= kOrderedGatherBytes;
  // Wide values read and write more; a random access moves a line whatever it wants of it.
  auto const width = is_cached ? std::max(bytes / kMeasuredValueBytes, 1.0) : 1 + bytes / kLineBytes;
  return values / host.gathered_values.at(source_bytes) * width * kNs;
}

double column_ns(double values, OutputShape const& column, double rows, rates::HostRates const& host) {
  auto const ns = taken_ns(values, column.bytes, rows * column.bytes, host);
  return column.is_plain ? ns : ns + taken_ns(values, kEntryBytes, rows * kEntryBytes, host);
}

double batches_ns(JoinShape const& shape, double batch_rows, rates::HostRates const& host) {
  auto const rows = std::max(std::min(batch_rows, matches(shape)), 1.0);
  return std::ceil(matches(shape) / rows) * kBatchNs + rows * output_row_bytes(shape) / host.copy_bytes_per_s * kNs;
}

std::uint64_t cheapest_chunk(JoinShape const& shape, double most_rows, rates::HostRates const& host) {
  auto best = kLargestChunkRows;
  auto const ns = [&](std::uint64_t rows) {
    return batches_ns(shape, std::min(static_cast<double>(rows), most_rows), host);
  };
  for (auto const rows : kChunkRows)
    if (ns(rows) < ns(best)) best = rows;
  return best;
}

double consumed_ns(JoinShape const& shape, DeviceCut const& cut, rates::HostRates const& host, bool in_probe_order) {
  auto const making = std::min<double>(cut.lanes, static_cast<double>(cut.slices));
  auto ns = matches(shape) * (kEmittedPairNs / making + 16 / host.copy_bytes_per_s * kNs);  // made, and read once
  for (auto const& column : shape.output) {
    bool const is_ordered = in_probe_order && column.side != smaller_side(shape);
    ns += column_ns(matches(shape), column, is_ordered ? 0 : rows_of(shape, column.side), host) * kGathererShare;
  }
  return ns + batches_ns(shape, static_cast<double>(cut.chunk_rows), host) + unmatched_ns(shape, host);
}

void estimate_matched(JoinShape& shape, double pairs) {
  for (auto const side : {Side::left, Side::right}) {
    auto const other = other_side(side);
    auto const multiplicity = std::max(rows_of(shape, other), 1.0) / distinct_of(shape, other);
    shape.of(side).matched = std::min(pairs / multiplicity, rows_of(shape, side));
  }
}

double unmatched_rows(JoinShape const& shape, Side side) {
  if (shape.output.empty()) return 0;
  auto const& known = shape.of(side);
  return num_side_rows(shape.parts.rows(side), static_cast<double>(known.rows + known.null_key_rows), known.matched);
}

double unmatched_ns(JoinShape const& shape, rates::HostRates const& host) {
  double ns = 0;
  for (auto const side : {Side::left, Side::right}) {
    auto const rows = unmatched_rows(shape, side);
    ns += rows * sizeof(std::int64_t) / host.copy_bytes_per_s * kNs;  // their ids
    for (auto const& column : shape.output)
      ns += column.side == side ? column_ns(rows, column, 0, host) * kGathererShare
                                : rows * column.bytes / host.copy_bytes_per_s * kNs;
  }
  return ns;
}

double condition_ns(JoinShape const& shape, rates::HostRates const& host) {
  constexpr double kWordBytes = 4;
  constexpr double kPairBytes = 16;  // written and read
  if (shape.left.tested_columns + shape.right.tested_columns == 0) return 0;
  auto const pairs = shape.tested_pairs;
  auto ns = pairs * kPairBytes / host.copy_bytes_per_s * kNs;
  for (auto const side : {Side::left, Side::right}) {
    auto const columns = static_cast<double>(shape.of(side).tested_columns);
    auto const rows = rows_of(shape, side);
    bool const moves = moves_words(pairs, rows);
    ns += columns * (encode_ns(rows, host) + taken_ns(pairs, kWordBytes, moves ? 0 : rows * kWordBytes, host));
    if (moves) ns += columns * rows * 2 * kWordBytes / host.copy_bytes_per_s * kNs;
  }
  return ns;
}

double mark_ns(JoinShape const& shape, DeviceCut const& cut, rates::DeviceRates const& rates) {
  double ns = 0;
  for (auto const side : {Side::left, Side::right})
    if (is_marked(shape, side))
      ns += read_ns(rows_of(shape, side), rates) + rows_of(shape, side) / 8 / rates.download_bytes_per_s * kNs +
            submissions_ns(1, cut, rates);
  return ns;
}

Upload upload_of(vk::UploadMode mode) noexcept {
  switch (mode) {
    case vk::UploadMode::map:
      return Upload::map;
    case vk::UploadMode::import_host:
      return Upload::import;
    case vk::UploadMode::stage:
      break;
  }
  return Upload::stage;
}

vk::UploadMode mode_of(Upload upload) {
  GARUDA_EXPECTS(upload != Upload::automatic);
  if (upload == Upload::map) return vk::UploadMode::map;
  return upload == Upload::import ? vk::UploadMode::import_host : vk::UploadMode::stage;
}

JoinOffer device_join_offer(Path path, JoinInquiry const& inquiry) { return device_offer<JoinOffer>(path, inquiry); }

GroupByOffer device_group_by_offer(Path path, GroupByInquiry const& inquiry) {
  auto offer = device_offer<GroupByOffer>(path, inquiry);
  offer.details.emplace_back("grouping", fmt::format("{}: the path's way", to_string(Grouping::slices)));
  return offer;
}

DeviceCut cut_join(JoinInquiry const& inquiry, JoinOffer& offer, std::uint64_t slices, double slice_bytes) {
  DeviceCut cut;
  offer.chunk_rows = device_chunk_rows(inquiry.shape, inquiry.host);
  cut.chunk_rows = offer.chunk_rows;
  cut.radix_bits = offer.radix_bits;
  cut.lanes = offer.lanes;
  cut.slices = slices;
  choose_upload(inquiry, slice_bytes, offer, cut);
  return cut;
}

DeviceCut cut_join(JoinInquiry const& inquiry, JoinOffer& offer) {
  auto const& shape = inquiry.shape;
  auto const slices = slices_of(shape, offer);
  auto const rows = (shape.left.rows + shape.right.rows) / slices + 1;
  return cut_join(inquiry, offer, slices, static_cast<double>(rows) * shape.key_bits / 8);
}

DeviceCut cut_group_by(GroupByInquiry const& inquiry, GroupByOffer& offer) {
  auto const& shape = inquiry.shape;
  auto const parts = std::uint64_t{1} << (has_keys(shape) ? offer.radix_bits : 0);
  auto const slice = std::min(offer.slice_rows, shape.rows / parts + 1);
  DeviceCut cut;
  cut.radix_bits = has_keys(shape) ? offer.radix_bits : 0;
  cut.lanes = offer.lanes;
  cut.slices = parts * slices_for(shape.rows / parts + 1, offer.slice_rows);
  cut.pixels = offer.pixels * static_cast<double>(cut.slices);
  auto const row_bytes = key_bytes(shape) + 4 * std::uint64_t{shape.value_words};
  choose_upload(inquiry, static_cast<double>(slice) * static_cast<double>(row_bytes), offer, cut);
  offer.candidate.choices = to_string(offer.tuning);
  if (offer.tuning.radix_bits < 0) offer.candidate.choices += fmt::format(",radix_bits={}", cut.radix_bits);
  return cut;
}

std::string to_string(DeviceCut const& cut) {
  return fmt::format("upload={},radix_bits={},chunk_rows={}", to_string(cut.upload), cut.radix_bits, cut.chunk_rows);
}

std::vector<std::uint32_t> device_radix_bits(std::uint32_t least, std::uint64_t rows) {
  constexpr std::uint32_t kStep = 2;
  constexpr std::uint32_t kMost = 8;
  std::vector<std::uint32_t> all{least};
  for (auto bits = least / kStep * kStep + kStep; bits <= kMost && (rows >> bits) >= kSmallestDeviceSliceRows;
       bits += kStep)
    all.push_back(bits);
  return all;
}

}  // namespace garuda::contract
