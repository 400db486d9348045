// Priced as compute passes of the same GPU: both move the same bytes.
#include "operators/cuda/cuda_path.hpp"

#include <algorithm>

#include "operators/compute/compute_costs.hpp"
#include "operators/cuda/cuda_group_by.hpp"
#include "operators/cuda/cuda_join.hpp"
#include "operators/device_offers.hpp"

namespace garuda::operators {
namespace {

Result<JoinOffers> join_offers(JoinInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto offer = device_join_offer(Path::cuda, inquiry);
  size_device_join(inquiry, offer, [&](std::uint64_t rows) {
    return cuda_join_bytes(std::min(shape.rows_left, rows), std::min(shape.rows_right, rows), shape.key_bits);
  });
  auto const cut = cut_join(inquiry, offer);
  offer.candidate.choices = to_string(cut);
  set_phases(offer.candidate, compute_join_costs(shape, cut, inquiry.facts().rates(), inquiry.host));
  return JoinOffers{{std::move(offer)}, {}};
}

Result<GroupByOffers> group_by_offers(GroupByInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto offer = device_group_by_offer(Path::cuda, inquiry);
  size_device_group_by(inquiry, offer, kMaxPassRows, [&](std::uint64_t rows) {
    return cuda_group_by_bytes(rows, words_of_keys(shape), shape.widest_value);
  });
  auto const cut = cut_group_by(inquiry, offer);
  set_phases(offer.candidate, compute_group_by_costs(shape, cut, inquiry.facts().rates(), inquiry.host));
  return GroupByOffers{{std::move(offer)}, {}};
}

}  // namespace

PathRow const kCudaPath{
    .path = Path::cuda,
    .name = "cuda",
    .api = DeviceApi::cuda,
    .asks_permission = true,
    .join = {.offers = join_offers,
             .open = [](OpenDevice device,
                        BackendOptions const& options) { return open_cuda_join(*device.cuda, options); }},
    .group_by = {.offers = group_by_offers, .open = [](OpenDevice device, GroupByBackendOptions const& options) {
                   return open_cuda_group_by(*device.cuda, options);
                 }}};

}  // namespace garuda::operators
