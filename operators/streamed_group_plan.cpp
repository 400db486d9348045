#include "operators/streamed_group_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "operators/column_words.hpp"
#include "operators/cost_model.hpp"
#include "operators/device_group_columns.hpp"
#include "operators/device_table.hpp"

namespace garuda::operators {
namespace {

constexpr std::uint64_t kWordBytes = 4;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 30;
constexpr std::uint64_t kBatchRows = std::uint64_t{1} << 22;
/// Passes keep the rows in so many copies, with packed keys and numbers of rows besides.
constexpr std::uint64_t kCopies = 4;
constexpr std::uint64_t kBesidesBytes = 40;
/// Small buffers, and what alignment takes.
constexpr std::uint64_t kSpareBytes = std::uint64_t{64} << 20;

std::string refuse_shape(GroupByRequest const& request) {
  auto const rows = static_cast<std::uint64_t>(request.table.num_rows());
  if (rows == 0) return "the table is empty";
  if (rows > kMostRows) return fmt::format("the table has more rows than a device groups, 2^30: {}", rows);
  auto const checked = check_device_group_by(request.table.schema(), request.columns);
  return checked ? std::string() : checked.error().message();
}

/// What of a row goes up and of a group comes down.
void measure(GroupByRequest const& request, StreamedGroupPlan& plan) {
  auto const& schema = request.table.schema();
  std::uint32_t nullable = 0;
  for (auto const column : group_by_columns_used(request.columns)) {
    auto const& type = schema[column].type;
    auto const words = device_words(type).value_or(0);
    plan.row_bytes += words * kWordBytes;
    nullable += has_nulls(request.table, column) ? 1 : 0;
    plan.converted += is_whole_words(type) ? 0 : 1;
  }
  plan.converted += nullable;
  plan.row_bytes += (nullable + 31) / 32 * kWordBytes;
  for (auto const key : request.columns.keys)
    plan.result_row_bytes += (device_words(schema[key].type).value_or(0) + (nullable > 0 ? 1 : 0)) * kWordBytes;
  for (auto const& aggregate : request.columns.aggregates)
    plan.result_row_bytes += (device_words(aggregate.result).value_or(0) + (nullable > 0 ? 1 : 0)) * kWordBytes;
}

/// Why the device's memory does not suffice; empty when it does.
std::string refuse_memory(GroupByRequest const& request, vk::DeviceTraits const& traits, StreamedGroupPlan& plan) {
  auto const budget = device_budget(request.options, traits);
  plan.plan.device_bytes = plan.rows * (kCopies * plan.row_bytes + kBesidesBytes) + kSpareBytes;
  if (plan.plan.device_bytes > budget)
    return fmt::format("{} bytes of device memory are needed, {} may be used", plan.plan.device_bytes, budget);
  auto const most = std::min(traits.limits.max_buffer_size, traits.limits.max_memory_allocation_size);
  for (auto const column : group_by_columns_used(request.columns)) {
    auto const bytes = plan.rows * device_words(request.table.schema()[column].type).value_or(0) * kWordBytes;
    if (bytes > most) return fmt::format("a column of {} bytes is larger than the device's buffers: {}", bytes, most);
  }
  auto const host_budget = batch_budget(request.options);
  // Two batches are on their way, and one that was given may be kept.
  plan.plan.host_bytes = 3 * plan.batch_rows * plan.result_row_bytes + (plan.converted > 0 ? plan.rows * 8 : 0);
  if (host_budget && plan.plan.host_bytes > *host_budget)
    return fmt::format("{} bytes of host memory are needed, {} may be used", plan.plan.host_bytes, *host_budget);
  return {};
}

void describe(StreamedGroupPlan& streamed) {
  auto& plan = streamed.plan;
  plan.key_bits = 0;
  plan.slice_rows = streamed.rows;
  plan.chunk_rows = streamed.batch_rows;
  plan.lanes = 1;
  plan.tuning = to_string(streamed.tuning);
  plan.estimated = streamed.candidate(static_cast<double>(streamed.rows) / 2, false);
  plan.candidates.push_back(plan.estimated);
  plan.details.emplace_back(
      "placement", fmt::format("device: the columns go there whole, {} bytes a row{}", streamed.row_bytes,
                               streamed.converted == 0
                                   ? std::string()
                                   : fmt::format(", {} values a row converted on the host", streamed.converted)));
}

/// The plan for one device, or a refusal.
Result<StreamedGroupChoice> plan_on(GroupByRequest const& request, Machine const& machine, std::size_t device,
                                    std::uint32_t threads) {
  StreamedGroupChoice choice;
  auto const& facts = machine.devices[device];
  GARUDA_TRY_ASSIGN(choice.refusal, refuse_placement(facts, request.options.tuning.placement));
  if (!choice.refusal.empty()) return choice;
  StreamedGroupPlan plan;
  plan.rows = static_cast<std::uint64_t>(request.table.num_rows());
  plan.tuning = request.options.tuning;
  plan.batch_rows = plan.tuning.chunk_rows != 0 ? plan.tuning.chunk_rows : std::min(kBatchRows, plan.rows);
  measure(request, plan);
  choice.code = ErrorCode::limit_exceeded;
  choice.refusal = refuse_memory(request, *facts.traits, plan);
  if (!choice.refusal.empty()) return choice;
  place_on(plan, machine, device, threads, request.options);
  describe(plan);
  choice.plan = std::move(plan);
  return choice;
}

}  // namespace

Candidate StreamedGroupPlan::candidate(double groups, bool encodes_first) const {
  StreamedGroupShape shape;
  shape.rows = static_cast<double>(rows);
  shape.groups = groups;
  shape.row_bytes = static_cast<double>(row_bytes);
  shape.result_row_bytes = static_cast<double>(result_row_bytes);
  shape.converted = converted;
  shape.copy_threads = copy_threads;
  shape.encodes_first = encodes_first;
  Candidate candidate;
  candidate.path = Path::compute;
  candidate.device = plan.device;
  candidate.choices = to_string(tuning);
  candidate.reason = reason;
  set_phases(candidate, streamed_group_by_costs(shape, device_rates, host_rates));
  return candidate;
}

bool may_stream(GroupByOptions const& options) noexcept {
  auto const& tuning = options.tuning;
  // What these knobs force is of slices, or of another path.
  bool const is_open = tuning.address == Address::automatic && tuning.keys == KeyForm::automatic &&
                       tuning.grouping == Grouping::automatic && tuning.method == GroupMethod::automatic &&
                       tuning.counting == Counting::automatic && tuning.spread == 0 && tuning.radix_bits < 0 &&
                       tuning.slice_rows == 0;
  return (options.path == Path::compute || options.path == Path::automatic) && tuning.placement != Placement::slices &&
         is_open;
}

Result<StreamedGroupChoice> plan_streamed_group_by(GroupByRequest const& request) {
  return choose_streamed<StreamedGroupPlan>(request, refuse_shape, plan_on);
}

}  // namespace garuda::operators
