#include "operators/placement/resident_offers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/join/resident_join_ways.hpp"
#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/compute/strings/string_costs.hpp"
#include "operators/compute/strings/string_numbers.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_group_columns.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_result.hpp"
#include "operators/device/strings/string_numbers.hpp"
#include "operators/placement/streamed_costs.hpp"
#include "operators/placement/streamed_group_plan.hpp"
#include "operators/placement/whole_offer.hpp"
#include "operators/vulkan/device_offers.hpp"

namespace garuda::placement {
namespace {

constexpr std::uint64_t kResidentBatchRows = std::uint64_t{1} << 22;
/// Of joined rows on the device: partitions are moved from one copy to another.
constexpr std::uint64_t kJoinCopies = 2;
constexpr char const* kThere = "device: the columns live there, and so does the result until it is read";

/// What the offers of both operators have in common.
template <class Inquiry, class Offer>
void describe(Inquiry const& inquiry, Offer& offer) {
  auto const asked = inquiry.options.tuning.chunk_rows;
  offer.tuning.placement = Placement::device;
  offer.candidate.choices = to_string(offer.tuning);
  offer.chunk_rows = asked != 0 ? asked : kResidentBatchRows;
  offer.lanes = copy_threads(inquiry);
}

/// How keys of strings are compared.
template <class Offer>
void describe(compute::NumberedStrings const& strings, Offer& offer) {
  offer.details.emplace_back("string keys", fmt::format("{} strings{}", static_cast<std::uint64_t>(strings.strings),
                                                        strings.are_kept ? ", by numbers kept with the table"
                                                                         : " are hashed and compared on the device"));
}

/// How keys of several columns are compared.
std::string how(compute::ComposedKeyShape const& keys) {
  auto const columns = fmt::format("{} column{}", keys.columns, keys.columns == 1 ? "" : "s");
  if (keys.numbered_words == 0) return fmt::format("{} packed in {} bits on the device", columns, keys.bits);
  return fmt::format("{}, {} words, numbered on the device", columns, keys.numbered_words);
}

std::uint64_t join_bytes(compute::ResidentJoinShape const& shape, compute::ResidentJoinWay const& way) {
  double moved = 0;
  for (auto const* side : {&shape.left, &shape.right}) moved += side->rows * (shape.key_bytes + side->payload_bytes);
  if (way.method == JoinMethod::bitmap) {
    auto const& build = shape.of(*way.build);
    moved = static_cast<double>(compute::bitmap_bytes(static_cast<std::uint64_t>(*build.key_span)));
    if (way.dealt_by != 0) moved += build.rows * shape.key_bytes / kJoinCopies;
  }
  auto const row_bytes = shape.key_bytes + shape.left.payload_bytes + shape.right.payload_bytes;
  auto const rows = shape.counts ? 0 : std::max({shape.left.rows, shape.right.rows, shape.matches});
  auto numbered = static_cast<std::uint64_t>(compute::composed_key_bytes(shape.composed));
  for (auto const& strings : shape.strings)
    if (!strings.are_kept)
      numbered += compute::string_numbers_scratch_bytes(static_cast<std::uint64_t>(strings.strings));
  return numbered + static_cast<std::uint64_t>(kJoinCopies * moved + rows * row_bytes);
}

Result<std::unique_ptr<GroupByResult>> start_group_by(resolve::GroupByRequest const& request, Plan plan) {
  auto run = std::make_unique<run::QueryRun>(request.options);
  GARUDA_TRY_ASSIGN(auto groups, device::group_device_table(*request.table.resident(), request.columns,
                                                            request.spec.ordered, request.options, run->recorder));
  RunStats inputs;
  inputs.rows = static_cast<std::uint64_t>(request.table.num_rows());
  device::DeviceResultOptions const options{"group-by", request.options.control, request.options.tuning.upload,
                                            plan.lanes, inputs};
  return std::make_unique<device::DeviceResult>(std::move(groups), std::move(plan), options, std::move(run));
}

}  // namespace

Result<std::vector<OfferedWay>> offer_join_ways(contract::JoinInquiry const& inquiry,
                                                resolve::JoinRequest const& request, double matches,
                                                bool looks_at_keys) {
  auto const& asked = inquiry.options.tuning;
  auto const& facts = inquiry.facts();
  GARUDA_TRY_ASSIGN(auto const tuning, compute::compute_tuning(*facts.vulkan));
  GARUDA_TRY_ASSIGN(auto shape, device::resident_join_shape(request, inquiry.shape.output.empty()));
  shape.asked = asked;
  shape.matches = matches;
  if (asked.build != BuildSide::automatic) shape.build = asked.build == BuildSide::left ? Side::left : Side::right;
  if (looks_at_keys) GARUDA_TRY(device::look_at_keys(request, facts.rates(), tuning, shape));
  GARUDA_TRY_ASSIGN(auto const ways, compute::resident_join_ways(shape, facts.rates(), tuning));
  std::vector<OfferedWay> offered;
  for (auto const& way : ways) {
    auto& offer = offered.emplace_back(OfferedWay{vulkan::device_join_offer(Path::compute, inquiry), way}).offer;
    offer.tuning = compute::forcing(way, asked);
    describe(inquiry, offer);
    for (auto const& strings : shape.strings)
      if (strings.strings > 0) describe(strings, offer);
    if (shape.composed.columns > 0) offer.details.emplace_back("composed keys", how(shape.composed));
    if (compute::uses_index(shape, way))
      offer.details.emplace_back("index", fmt::format("kept with the {} table", to_string(*way.build)));
    offer.key_bits = static_cast<std::uint32_t>(8 * shape.key_bytes);
    offer.device_bytes = join_bytes(shape, way);
    contract::set_phases(offer.candidate, compute::resident_join_costs(shape, way, facts.rates(), tuning));
  }
  return offered;
}

Result<contract::JoinOffers> resident_join_offers(contract::JoinInquiry const& inquiry) {
  GARUDA_TRY_ASSIGN(auto offered,
                    offer_join_ways(inquiry, *inquiry.shape.tables, inquiry.shape.expected_matches, true));
  contract::JoinOffers offers;
  for (auto& [offer, way] : offered) {
    offer.details.emplace_back("placement", kThere);
    offer.start = [way](resolve::JoinRequest const& request, Plan plan) {
      return device::join_device_tables(request, std::move(plan), way,
                                        std::make_unique<run::QueryRun>(request.options));
    };
    offer.count = [way](resolve::JoinRequest const& request, Plan const& plan) {
      run::QueryRun run(request.options);
      return device::count_device_tables(request, plan, way, run);
    };
    offers.list.push_back(std::move(offer));
  }
  return offers;
}

Result<contract::GroupByOffers> resident_group_by_offers(contract::GroupByInquiry const& inquiry) {
  auto const& request = *inquiry.shape.table;
  GARUDA_TRY(compute::compute_tuning(*inquiry.facts().vulkan));
  GARUDA_TRY(device::check_device_group_by(request.table.schema(), request.columns));
  StreamedGroupPlan sizes;
  sizes.rows = inquiry.shape.rows;
  measure(request, sizes);
  contract::GroupByOffers offers;
  auto& offer = offers.list.emplace_back();
  offer = vulkan::device_offer<contract::GroupByOffer>(Path::compute, inquiry);
  describe(inquiry, offer);
  offer.details.emplace_back("placement", kThere);
  offer.key_bits = 0;
  offer.slice_rows = sizes.rows;
  offer.device_bytes = working_bytes(sizes);
  auto shape = shape_of(inquiry, sizes);
  for (auto const key : request.columns.keys) {
    auto const strings = device::numbered_strings(*request.table.resident(), key);
    if (strings.strings == 0) continue;
    describe(strings, offer);
    shape.strings.push_back(strings);
  }
  contract::set_phases(offer.candidate, resident_group_by_costs(shape, inquiry.facts().rates(), inquiry.host));
  offer.start = start_group_by;
  return offers;
}

}  // namespace garuda::placement
