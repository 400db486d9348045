#include "operators/vulkan/device_offers.hpp"

#include <fmt/format.h>

#include "operators/contract/offers/costs.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::vulkan {
namespace {

std::uint64_t slices_of(contract::JoinShape const& shape, contract::JoinOffer const& offer) {
  auto const parts = std::uint64_t{1} << offer.radix_bits;
  auto const of_side = [&](std::uint64_t rows) { return contract::slices_for(rows / parts + 1, offer.slice_rows); };
  return parts * of_side(shape.left.rows) * of_side(shape.right.rows);
}

template <class Inquiry, class Offer>
void choose_upload(Inquiry const& inquiry, double slice_bytes, Offer& offer, contract::DeviceCut& cut) {
  auto const& facts = inquiry.facts();
  if (offer.tuning.upload == Upload::automatic)
    offer.tuning.upload = facts.vulkan == nullptr
                              ? Upload::stage
                              : upload_of(contract::cheapest_upload(facts.rates(), *facts.vulkan, slice_bytes));
  cut.upload = mode_of(offer.tuning.upload);
}

}  // namespace

contract::JoinOffer device_join_offer(Path path, contract::JoinInquiry const& inquiry) {
  return device_offer<contract::JoinOffer>(path, inquiry);
}

contract::GroupByOffer device_group_by_offer(Path path, contract::GroupByInquiry const& inquiry) {
  auto offer = device_offer<contract::GroupByOffer>(path, inquiry);
  offer.details.emplace_back("grouping", fmt::format("{}: the path's way", to_string(Grouping::slices)));
  return offer;
}

contract::DeviceCut cut_join(contract::JoinInquiry const& inquiry, contract::JoinOffer& offer, std::uint64_t slices,
                             double slice_bytes) {
  contract::DeviceCut cut;
  offer.chunk_rows = contract::device_chunk_rows(inquiry.shape, inquiry.host);
  cut.chunk_rows = offer.chunk_rows;
  cut.radix_bits = offer.radix_bits;
  cut.lanes = offer.lanes;
  cut.slices = slices;
  choose_upload(inquiry, slice_bytes, offer, cut);
  return cut;
}

contract::DeviceCut cut_join(contract::JoinInquiry const& inquiry, contract::JoinOffer& offer) {
  auto const& shape = inquiry.shape;
  auto const slices = slices_of(shape, offer);
  auto const rows = (shape.left.rows + shape.right.rows) / slices + 1;
  return cut_join(inquiry, offer, slices, static_cast<double>(rows) * shape.key_bits / 8);
}

contract::DeviceCut cut_group_by(contract::GroupByInquiry const& inquiry, contract::GroupByOffer& offer) {
  auto const& shape = inquiry.shape;
  auto const parts = std::uint64_t{1} << (contract::has_keys(shape) ? offer.radix_bits : 0);
  auto const slice = std::min(offer.slice_rows, shape.rows / parts + 1);
  contract::DeviceCut cut;
  cut.radix_bits = contract::has_keys(shape) ? offer.radix_bits : 0;
  cut.lanes = offer.lanes;
  cut.slices = parts * contract::slices_for(shape.rows / parts + 1, offer.slice_rows);
  cut.pixels = offer.pixels * static_cast<double>(cut.slices);
  auto const row_bytes = contract::key_bytes(shape) + 4 * std::uint64_t{shape.value_words};
  choose_upload(inquiry, static_cast<double>(slice) * static_cast<double>(row_bytes), offer, cut);
  offer.candidate.choices = to_string(offer.tuning);
  if (offer.tuning.radix_bits < 0) offer.candidate.choices += fmt::format(",radix_bits={}", cut.radix_bits);
  return cut;
}

std::string to_string(contract::DeviceCut const& cut) {
  return fmt::format("upload={},radix_bits={},chunk_rows={}", to_string(cut.upload), cut.radix_bits, cut.chunk_rows);
}

}  // namespace garuda::vulkan
