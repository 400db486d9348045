// How slices are sized and cut, which offers of all paths on devices share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "operators/contract/offers/costs.hpp"
#include "operators/contract/offers/offer.hpp"

namespace garuda::vulkan {

/// An offer with what the inquiry says of it.
template <class Offer, class Inquiry>
Offer device_offer(Path path, Inquiry const& inquiry) {
  auto const& facts = inquiry.facts();
  Offer offer;
  offer.candidate.path = path;
  offer.candidate.device = facts.info->name;
  offer.candidate.reason = contract::source_of(facts);
  offer.device = inquiry.device;
  offer.key_bits = inquiry.shape.key_bits;
  offer.tuning = inquiry.options.tuning;
  return offer;
}
contract::JoinOffer device_join_offer(Path path, contract::JoinInquiry const& inquiry);
contract::GroupByOffer device_group_by_offer(Path path, contract::GroupByInquiry const& inquiry);

/// Lanes, and slices halved until those under way fit the device. `bytes_of`: device bytes of a slice of so many rows.
template <class Inquiry, class Offer, class BytesOf>
void size_slices(Inquiry const& inquiry, std::uint64_t table_rows, std::uint64_t most_rows, BytesOf const& bytes_of,
                 Offer& offer) {
  auto const& tuning = inquiry.options.tuning;
  offer.lanes = tuning.lanes != 0 ? tuning.lanes : 2;
  auto const budget = contract::device_budget(inquiry.options, inquiry.facts());
  offer.slice_rows = std::min(tuning.slice_rows != 0 ? tuning.slice_rows : contract::kMaxPassRows, most_rows);
  while (offer.slice_rows > contract::kSmallestDeviceSliceRows &&
         bytes_of(std::min(offer.slice_rows, table_rows)) * offer.lanes > budget)
    offer.slice_rows /= 2;
}

/// Sides larger than a slice are cut by partitioning on the host, in parts of at most `most_part_rows` rows.
template <class BytesOf>
void size_device_join(contract::JoinInquiry const& inquiry, contract::JoinOffer& offer, BytesOf const& bytes_of,
                      std::uint64_t most_part_rows = std::numeric_limits<std::uint64_t>::max()) {
  auto const larger = inquiry.shape.larger_rows();
  size_slices(inquiry, larger, std::numeric_limits<std::uint64_t>::max(), bytes_of, offer);
  auto const asked = inquiry.options.tuning.radix_bits;
  auto const target = std::max<std::uint64_t>(std::min(offer.slice_rows, most_part_rows), 1);
  offer.radix_bits = asked >= 0 ? static_cast<std::uint32_t>(asked) : contract::radix_bits_for(larger, target);
  offer.device_bytes = bytes_of(std::min(offer.slice_rows, (larger >> offer.radix_bits) + 1)) * offer.lanes;
}

/// Partitions keep merging cheap, and at least `least_bits` of them there are.
template <class BytesOf>
void size_device_group_by(contract::GroupByInquiry const& inquiry, contract::GroupByOffer& offer,
                          std::uint64_t most_rows, BytesOf const& bytes_of, std::uint32_t least_bits = 0) {
  auto const& shape = inquiry.shape;
  size_slices(inquiry, shape.rows, most_rows, bytes_of, offer);
  auto const asked = inquiry.options.tuning.radix_bits;
  offer.radix_bits = asked >= 0 ? static_cast<std::uint32_t>(asked)
                                : std::max(least_bits, contract::bits_against_merging(shape, offer.slice_rows));
  offer.device_bytes = bytes_of(std::min(offer.slice_rows, (shape.rows >> offer.radix_bits) + 1)) * offer.lanes;
}

/// How the slices of `offer` are priced; chooses upload and chunks, where they are open, by the bytes of a slice.
contract::DeviceCut cut_join(contract::JoinInquiry const& inquiry, contract::JoinOffer& offer);
/// The same where there are so many slices, each of which reads so many bytes.
contract::DeviceCut cut_join(contract::JoinInquiry const& inquiry, contract::JoinOffer& offer, std::uint64_t slices,
                             double slice_bytes);
/// Likewise; writes the candidate's choices, too.
contract::DeviceCut cut_group_by(contract::GroupByInquiry const& inquiry, contract::GroupByOffer& offer);

/// "upload=stage,radix_bits=2,chunk_rows=524288".
std::string to_string(contract::DeviceCut const& cut);

}  // namespace garuda::vulkan
