#include "operators/placement/streamed_group_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "operators/device/device_group_columns.hpp"
#include "operators/device/device_table.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/placement/streamed_costs.hpp"
#include "operators/placement/streamed_group_by.hpp"

namespace garuda::placement {
namespace {

constexpr std::uint64_t kWordBytes = 4;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 30;
constexpr std::uint64_t kBatchRows = std::uint64_t{1} << 22;
/// Passes keep the rows in so many copies, with packed keys and numbers of rows besides.
constexpr std::uint64_t kCopies = 4;
constexpr std::uint64_t kBesidesBytes = 40;
/// Small buffers, and what alignment takes.
constexpr std::uint64_t kSpareBytes = std::uint64_t{64} << 20;

std::string refuse_shape(resolve::GroupByRequest const& request) {
  auto const rows = static_cast<std::uint64_t>(request.table.num_rows());
  if (rows == 0) return "the table is empty";
  if (rows > kMostRows) return fmt::format("the table has more rows than a device groups, 2^30: {}", rows);
  auto const checked = device::check_device_group_by(request.table.schema(), request.columns);
  return checked ? std::string() : checked.error().message();
}

/// What of a row goes up and of a group comes down.
void measure(resolve::GroupByRequest const& request, StreamedGroupPlan& plan) {
  auto const& schema = request.table.schema();
  std::uint32_t nullable = 0;
  for (auto const column : device::group_by_columns_used(request.columns)) {
    auto const& type = schema[column].type;
    auto const words = device::device_words(type).value_or(0);
    plan.row_bytes += words * kWordBytes;
    nullable += materialize::has_nulls(request.table, column) ? 1 : 0;
    plan.converted += materialize::is_whole_words(type) ? 0 : 1;
  }
  plan.converted += nullable;
  plan.row_bytes += (nullable + 31) / 32 * kWordBytes;
  for (auto const key : request.columns.keys)
    plan.result_row_bytes += (device::device_words(schema[key].type).value_or(0) + (nullable > 0 ? 1 : 0)) * kWordBytes;
  for (auto const& aggregate : request.columns.aggregates)
    plan.result_row_bytes += (device::device_words(aggregate.result).value_or(0) + (nullable > 0 ? 1 : 0)) * kWordBytes;
}

/// Why the device's memory does not suffice; empty when it does.
std::string refuse_memory(resolve::GroupByRequest const& request, vk::DeviceTraits const& traits,
                          StreamedGroupPlan& plan) {
  auto const budget = contract::device_budget(request.options, traits);
  plan.plan.device_bytes = plan.rows * (kCopies * plan.row_bytes + kBesidesBytes) + kSpareBytes;
  if (plan.plan.device_bytes > budget)
    return fmt::format("{} bytes of device memory are needed, {} may be used", plan.plan.device_bytes, budget);
  auto const most = std::min(traits.limits.max_buffer_size, traits.limits.max_memory_allocation_size);
  for (auto const column : device::group_by_columns_used(request.columns)) {
    auto const bytes = plan.rows * device::device_words(request.table.schema()[column].type).value_or(0) * kWordBytes;
    if (bytes > most) return fmt::format("a column of {} bytes is larger than the device's buffers: {}", bytes, most);
  }
  auto const host_budget = batch_budget(request.options);
  // Two batches are on their way, and one that was given may be kept.
  plan.plan.host_bytes = 3 * plan.batch_rows * plan.result_row_bytes + (plan.converted > 0 ? plan.rows * 8 : 0);
  if (host_budget && plan.plan.host_bytes > *host_budget)
    return fmt::format("{} bytes of host memory are needed, {} may be used", plan.plan.host_bytes, *host_budget);
  return {};
}

Candidate price(contract::GroupByInquiry const& inquiry, StreamedGroupPlan const& plan) {
  StreamedGroupShape shape;
  shape.rows = static_cast<double>(plan.rows);
  shape.groups = inquiry.shape.is_unseen ? shape.rows / 2 : static_cast<double>(inquiry.shape.estimated_groups);
  shape.row_bytes = static_cast<double>(plan.row_bytes);
  shape.result_row_bytes = static_cast<double>(plan.result_row_bytes);
  shape.converted = plan.converted;
  shape.copy_threads = plan.copy_threads;
  shape.encodes_first = inquiry.shape.is_encoded;
  Candidate candidate;
  candidate.path = Path::compute;
  candidate.device = inquiry.facts().info->name;
  candidate.choices = to_string(plan.tuning);
  candidate.reason = contract::source_of(inquiry.facts());
  contract::set_phases(candidate, streamed_group_by_costs(shape, inquiry.facts().rates(), inquiry.host));
  return candidate;
}

contract::GroupByOffer offer_of(contract::GroupByInquiry const& inquiry, StreamedGroupPlan plan) {
  contract::GroupByOffer offer;
  offer.candidate = price(inquiry, plan);
  offer.device = inquiry.device;
  offer.key_bits = 0;
  offer.slice_rows = plan.rows;
  offer.chunk_rows = plan.batch_rows;
  offer.device_bytes = plan.plan.device_bytes;
  offer.host_bytes = plan.plan.host_bytes;
  offer.tuning = plan.tuning;
  auto const converted =
      plan.converted == 0 ? std::string() : fmt::format(", {} values a row converted on the host", plan.converted);
  offer.details.emplace_back(
      "placement", fmt::format("device: the columns go there whole, {} bytes a row{}", plan.row_bytes, converted));
  offer.start = [streamed = std::move(plan)](resolve::GroupByRequest const& request, Plan printable) {
    auto own = streamed;
    own.plan = std::move(printable);
    return streamed_group_by(request, std::move(own));
  };
  return offer;
}

}  // namespace

Result<WholeOffer<contract::GroupByOffer>> offer_streamed_group_by(contract::GroupByInquiry const& inquiry) {
  auto const& request = *inquiry.shape.table;
  auto const& facts = inquiry.facts();
  WholeOffer<contract::GroupByOffer> whole;
  whole.refusal = refuse_shape(request);
  if (whole.refusal.empty()) {
    GARUDA_TRY_ASSIGN(whole.refusal, refuse_placement(facts, inquiry.options.tuning.placement));
  }
  if (!whole.refusal.empty()) return whole;
  StreamedGroupPlan plan;
  plan.rows = static_cast<std::uint64_t>(request.table.num_rows());
  plan.tuning = inquiry.options.tuning;
  plan.tuning.placement = Placement::device;
  plan.batch_rows = plan.tuning.chunk_rows != 0 ? plan.tuning.chunk_rows : std::min(kBatchRows, plan.rows);
  measure(request, plan);
  whole.code = ErrorCode::limit_exceeded;
  whole.refusal = refuse_memory(request, *facts.traits, plan);
  if (!whole.refusal.empty()) return whole;
  plan.device = *inquiry.device;
  plan.copy_threads = copy_threads(inquiry);
  whole.offer = offer_of(inquiry, std::move(plan));
  return whole;
}

}  // namespace garuda::placement
