#include "operators/placement/compute_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/compute/condition_join/condition_join.hpp"
#include "operators/compute/condition_join/condition_offers.hpp"
#include "operators/compute/group_by/compute_group_by.hpp"
#include "operators/compute/join/compute_join.hpp"
#include "operators/compute/join/resident_join_strategies.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/device/device_join.hpp"
#include "operators/placement/whole_group_by.hpp"
#include "operators/placement/whole_join.hpp"
#include "operators/placement/whole_offer.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/vulkan/group_slice.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::placement {
namespace {

Result<void> add_join_slices(contract::JoinInquiry const& inquiry, contract::JoinOffers& offers) {
  auto const& shape = inquiry.shape;
  auto const& facts = inquiry.facts();
  GARUDA_TRY_ASSIGN(auto const tuning, compute::compute_tuning(*facts.vulkan));
  auto const asked = inquiry.options.tuning.method;
  if (asked == JoinMethod::bitmap)
    return fail(ErrorCode::usage, "method=bitmap on path compute is of tables that live on a device");
  for (auto const method : {JoinMethod::partitioned, JoinMethod::global}) {
    if (asked != JoinMethod::automatic && asked != method) continue;
    auto offer = contract::device_join_offer(Path::compute, inquiry);
    offer.tuning.method = method;
    contract::size_device_join(inquiry, offer, [&](std::uint64_t rows) {
      return compute::compute_join_bytes(std::min(shape.left.rows, rows), std::min(shape.right.rows, rows),
                                         shape.key_bits, method, tuning, contract::pairs_made(shape) > 0);
    });
    auto const cut = contract::cut_join(inquiry, offer);
    JoinTuning chosen;
    chosen.method = method;
    offer.candidate.choices = fmt::format("{},{}", to_string(chosen), contract::to_string(cut));
    auto const build_rows = std::min({shape.left.rows, shape.right.rows, offer.slice_rows});
    auto const scattered =
        compute::scattered_bits(build_rows, method, cut.upload == vk::UploadMode::import_host, tuning);
    contract::set_phases(offer.candidate,
                         compute::compute_join_costs(shape, cut, facts.rates(), inquiry.host, method, scattered));
    offers.list.push_back(std::move(offer));
  }
  return {};
}

/// Tables hold any number of groups, so partitions only keep merging cheap.
Result<void> add_group_by_slices(contract::GroupByInquiry const& inquiry, contract::GroupByOffers& offers) {
  auto const& shape = inquiry.shape;
  auto const& facts = inquiry.facts();
  GARUDA_TRY(compute::compute_tuning(*facts.vulkan));
  auto offer = contract::device_group_by_offer(Path::compute, inquiry);
  auto const words = contract::words_of_keys(shape);
  contract::size_device_group_by(
      inquiry, offer, vulkan::most_group_rows(*facts.vulkan, words, contract::widest_value(shape.requests)),
      [&](std::uint64_t rows) {
        return compute::compute_group_by_slice_bytes(rows, words, contract::widest_value(shape.requests));
      });
  auto const cut = contract::cut_group_by(inquiry, offer);
  contract::set_phases(offer.candidate, compute::compute_group_by_costs(shape, cut, facts.rates(), inquiry.host));
  offers.list.push_back(std::move(offer));
  return {};
}

/// See JoinRow::offers. Errors: no_device for a device that cannot run the path; usage or, for want of memory,
/// limit_exceeded when placement=device is asked for and cannot be had, with the reason.
Result<contract::JoinOffers> join_offers(contract::JoinInquiry const& inquiry) {
  std::optional<Result<std::vector<contract::JoinOffer>>> whole;
  if (inquiry.shape.tables != nullptr && may_take_whole(inquiry)) whole = offer_whole_join(inquiry);
  return beside_slices(inquiry, std::move(whole),
                       [&](contract::JoinOffers& offers) { return add_join_slices(inquiry, offers); });
}

Result<contract::GroupByOffers> group_by_offers(contract::GroupByInquiry const& inquiry) {
  auto const& tuning = inquiry.options.tuning;
  // These knobs are about slices, or about another path.
  bool const is_open = tuning.address == Address::automatic && tuning.keys == KeyForm::automatic &&
                       tuning.grouping == Grouping::automatic && tuning.radix_bits < 0 && tuning.slice_rows == 0;
  if (!is_open && (tuning.placement == Placement::device || inquiry.shape.resident_on))
    return fail(ErrorCode::usage,
                "placement=device takes no slices: address, keys, grouping, radix_bits and slice_rows are of others");
  std::optional<Result<std::vector<contract::GroupByOffer>>> whole;
  if (inquiry.shape.table != nullptr && is_open && may_take_whole(inquiry)) whole = offer_whole_group_by(inquiry);
  return beside_slices(inquiry, std::move(whole),
                       [&](contract::GroupByOffers& offers) { return add_group_by_slices(inquiry, offers); });
}

}  // namespace

contract::PathRow const kComputePath{
    .path = Path::compute,
    .name = "compute",
    .api = DeviceApi::vulkan,
    .takes_whole_tables = true,
    .find_devices = vulkan::find_vulkan_devices,
    .describe_device = [](vk::DeviceTraits const& traits) -> std::string {
      auto const tuning = compute::compute_tuning(traits);
      return tuning ? fmt::format("yes, subgroups of {}", tuning->subgroup_size) : "no: " + tuning.error().message();
    },
    .join = {.offers = join_offers,
             .open = vulkan::open_on<compute::open_compute_join, contract::BackendOptions>,
             .feeding = {.forks = true},  // slices that the host scatters
             .sample_matches = device::sample_matches,
             .join_whole = join_whole_tables,
             .count_whole = count_whole_join},
    .condition_join =
        {.offers = compute::compute_condition_offers,
         .open = vulkan::open_on<compute::open_compute_condition_join, contract::BackendOptions, expr::PairCondition>},
    .group_by = {.offers = group_by_offers,
                 .open = vulkan::open_on<compute::open_compute_group_by, contract::GroupByBackendOptions>,
                 .group_whole = group_whole_table}};

}  // namespace garuda::placement
