// Priced as compute passes of the same GPU: both move the same bytes.
#include "operators/cuda/cuda_path.hpp"

#include <algorithm>

#include "operators/compute/group_by/compute_group_by.hpp"
#include "operators/compute/join/resident_join_strategies.hpp"
#include "operators/cuda/cuda_device.hpp"
#include "operators/cuda/cuda_group_by.hpp"
#include "operators/cuda/cuda_join.hpp"
#include "operators/vulkan/device_offers.hpp"

namespace garuda::cuda {
namespace {

Result<contract::JoinOffers> join_offers(contract::JoinInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  if (inquiry.options.tuning.method == JoinMethod::bitmap)
    return fail(ErrorCode::usage, "method=bitmap is of paths cpu and compute");
  auto offer = vulkan::device_join_offer(Path::cuda, inquiry);
  vulkan::size_device_join(inquiry, offer, [&](std::uint64_t rows) {
    return cuda_join_bytes(std::min(shape.left.rows, rows), std::min(shape.right.rows, rows), shape.key_bits);
  });
  auto const cut = vulkan::cut_join(inquiry, offer);
  offer.candidate.choices = vulkan::to_string(cut);
  contract::set_phases(offer.candidate, compute::compute_join_costs(shape, cut, inquiry.facts().rates(), inquiry.host));
  return contract::JoinOffers{{std::move(offer)}, {}};
}

Result<contract::GroupByOffers> group_by_offers(contract::GroupByInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto offer = vulkan::device_group_by_offer(Path::cuda, inquiry);
  vulkan::size_device_group_by(inquiry, offer, contract::kMaxPassRows, [&](std::uint64_t rows) {
    return cuda_group_by_bytes(rows, contract::words_of_keys(shape), contract::widest_value(shape.requests));
  });
  auto const cut = vulkan::cut_group_by(inquiry, offer);
  contract::set_phases(offer.candidate,
                       compute::compute_group_by_costs(shape, cut, inquiry.facts().rates(), inquiry.host));
  return contract::GroupByOffers{{std::move(offer)}, {}};
}

}  // namespace

contract::PathRow const kCudaPath{
    .path = Path::cuda,
    .name = "cuda",
    .api = DeviceApi::cuda,
    .asks_permission = true,
    .find_devices = find_cuda_devices,
    .join = {.offers = join_offers,
             .open = [](contract::OpenDevice* device,
                        contract::BackendOptions const& options) { return open_cuda_join(cuda_of(*device), options); }},
    .group_by = {.offers = group_by_offers,
                 .open = [](contract::OpenDevice* device, contract::GroupByBackendOptions const& options) {
                   return open_cuda_group_by(cuda_of(*device), options);
                 }}};

}  // namespace garuda::cuda
