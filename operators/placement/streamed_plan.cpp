#include "operators/placement/streamed_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/compute/primitives/device_scan.hpp"
#include "operators/device/device_table.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/materialize/row_bytes.hpp"
#include "operators/placement/streamed_costs.hpp"
#include "operators/vulkan/device_offers.hpp"

namespace garuda::placement {
namespace {

constexpr std::uint64_t kMostSideRows = std::uint64_t{1} << 31;
/// Ranges of the probe side: so many that copies both ways overlap for most of the time, but not so few rows that the
/// tables of the build side, which every range builds, cost more than the copies.
constexpr std::uint64_t kRanges = 8;
constexpr std::uint64_t kLeastRangeRows = std::uint64_t{1} << 20;
constexpr std::uint64_t kBatchRows = std::uint64_t{1} << 23;

/// Errors: usage for tables that do not go whole.
Result<void> check_shape(resolve::JoinRequest const& request) {
  auto const& pair = request.columns.keys.front();
  for (auto const& [table, key] : {std::pair{request.left, pair.left}, {request.right, pair.right}}) {
    auto const rows = static_cast<std::uint64_t>(table.num_rows());
    if (rows == 0) return fail(ErrorCode::usage, "a table is empty");
    if (rows > kMostSideRows)
      return fail(ErrorCode::usage, fmt::format("a table has more rows than a device takes, 2^31: {}", rows));
    if (rows > compute::kMaxScanElements && materialize::has_nulls(table, key))
      return fail(ErrorCode::usage,
                  fmt::format("the key '{}' has nulls in more rows than are sorted out on a device: {}",
                              table.schema()[key].name, rows));
  }
  return {};
}

/// The table's columns with nulls among those that stay words, the key first.
std::vector<std::size_t> null_columns(StreamedSide const& side, std::size_t key) {
  std::vector<std::size_t> columns;
  if (materialize::has_nulls(side.table, key)) columns.push_back(key);
  for (std::size_t i = 1; i < side.columns.size(); ++i)
    if (materialize::has_nulls(side.table, side.columns[i].sources[0])) columns.push_back(side.columns[i].sources[0]);
  return columns;
}

/// Places one side: what goes up, and what the host gathers.
class SidePlacer {
 public:
  SidePlacer(TableView table, std::size_t key, DataType const& key_type, bool gathers) : key_(key), gathers_(gathers) {
    side_.table = table;
    side_.rows = static_cast<std::uint64_t>(table.num_rows());
    auto const words = device::device_key_words(key_type);
    side_.columns.push_back({{key}, words, false, lies_as(key, words)});
  }

  void add(std::size_t column) {
    auto const words = device::device_words(side_.table.schema()[column].type);
    if (column == key_) return;
    if (words && !gathers_) {
      auto added = device::value_column(side_.table, column);
      if (std::ranges::find(side_.columns, added) == side_.columns.end()) side_.columns.push_back(std::move(added));
    } else if (std::ranges::find(side_.gathered, column) == side_.gathered.end()) {
      side_.gathered.push_back(column);
    }
  }

  /// Once all columns are there.
  void add_nulls() {
    auto const columns = null_columns(side_, key_);
    nulls_ = device::add_null_words(columns, side_.columns);
    if (!columns.empty() && columns[0] == key_) side_.key_nulls = nulls_[0].position;
  }

  /// Where a column of the result comes from; adds to `arriving` what it needs.
  StreamedOutput output(std::size_t column, bool from_probe, std::vector<StreamedWords>& arriving) const {
    auto const arrive = [&](std::optional<std::size_t> position, std::uint32_t words) {
      // Keys of both sides are one column of the device's result.
      StreamedWords const wanted{position == std::size_t{0} ? false : from_probe, position, words};
      auto const found = std::ranges::find(arriving, wanted);
      if (found != arriving.end()) return static_cast<std::size_t>(found - arriving.begin());
      arriving.push_back(wanted);
      return arriving.size() - 1;
    };
    StreamedOutput output;
    output.from_probe = from_probe;
    output.type = side_.table.schema()[column].type;
    auto const gathered = std::ranges::find(side_.gathered, column);
    if (gathered != side_.gathered.end()) {
      output.gathered = static_cast<std::size_t>(gathered - side_.gathered.begin());
      output.values = arrive(std::nullopt, 1);
      return output;
    }
    auto const position = position_of(column);
    output.words = side_.columns[position].words;
    output.is_direct = lies_as(column, output.words);
    output.values = arrive(position, output.words);
    // Rows whose key is null match nothing.
    if (column == key_) return output;
    for (auto const& bit : nulls_) {
      if (bit.column != column) continue;
      output.nulls = arrive(bit.position, 1);
      output.null_bit = bit.bit;
    }
    return output;
  }

  StreamedSide const& side() const noexcept { return side_; }

 private:
  bool lies_as(std::size_t column, std::uint32_t words) const {
    auto const& type = side_.table.schema()[column].type;
    return materialize::is_whole_words(type) && device::device_words(type) == words;
  }
  std::size_t position_of(std::size_t column) const {
    auto const found = std::ranges::find_if(
        side_.columns, [&](device::UploadColumn const& one) { return !one.is_nulls && one.sources[0] == column; });
    return static_cast<std::size_t>(found - side_.columns.begin());
  }

  StreamedSide side_;
  std::size_t key_;
  bool gathers_;
  std::vector<device::NullBits> nulls_;
};

/// Both sides and the columns of the result.
void place(resolve::JoinRequest const& request, DataType const& key_type, StreamedPlan& plan) {
  auto const& columns = request.columns;
  bool const gathers = request.options.tuning.payload == Payload::gather;
  SidePlacer left(request.left, columns.keys.front().left, key_type, gathers);
  SidePlacer right(request.right, columns.keys.front().right, key_type, gathers);
  for (auto const& output : columns.output) (output.side == Side::left ? left : right).add(output.column);
  left.add_nulls();
  right.add_nulls();
  auto const build = request.options.tuning.build;
  bool const build_is_left =
      build == BuildSide::automatic ? left.side().rows <= right.side().rows : build == BuildSide::left;
  for (auto const& output : columns.output) {
    bool const is_left = output.side == Side::left;
    plan.output.push_back((is_left ? left : right).output(output.column, is_left != build_is_left, plan.arriving));
  }
  for (std::size_t i = 0; i < plan.output.size(); ++i) {
    auto const& [side, column] = columns.output[i];
    if (plan.output[i].gathered || !plan.output[i].is_direct)
      plan.made_row_bytes += materialize::column_row_bytes(side == Side::left ? request.left : request.right, column);
  }
  plan.build_is_left = build_is_left;
  plan.build = (build_is_left ? left : right).side();
  plan.probe = (build_is_left ? right : left).side();
}

/// What copying the rows without null keys takes for so many rows of a side; nothing where no key is null.
std::uint64_t non_null_bytes(StreamedSide const& side, std::uint64_t rows) {
  return side.key_nulls ? rows * (side.row_bytes() + 3 * materialize::kWordBytes) : 0;
}

/// Device bytes with ranges of so many rows, about.
std::uint64_t device_bytes(StreamedPlan const& plan, compute::ComputeTuning const& tuning) {
  auto const& build = plan.build;
  auto const& probe = plan.probe;
  auto const joined =
      compute::rows_join_bytes({build.rows, build.moved_bytes()}, {plan.range_rows, probe.moved_bytes()}, tuning);
  return build.rows * build.row_bytes() + probe.rows * probe.row_bytes() + joined + non_null_bytes(build, build.rows) +
         non_null_bytes(probe, plan.range_rows) + kResultSets * plan.capacity_rows * plan.result_row_bytes() +
         kSpareBytes;
}

/// Finds the sizes. Errors: limit_exceeded.
Result<void> size(resolve::JoinRequest const& request, contract::DeviceFacts const& facts,
                  compute::ComputeTuning const& tuning, StreamedPlan& plan) {
  auto const& options = request.options;
  auto const asked_rows = options.tuning.slice_rows;
  plan.range_rows = asked_rows != 0 ? asked_rows : std::max(plan.probe.rows / kRanges, kLeastRangeRows);
  plan.range_rows = std::min((plan.range_rows + 3) / 4 * 4, (plan.probe.rows + 3) / 4 * 4);
  plan.batch_rows = options.tuning.chunk_rows != 0 ? options.tuning.chunk_rows : kBatchRows;
  while (true) {
    // A foreign key finds its primary key; ranges whose rows multiply are cut.
    plan.capacity_rows = plan.range_rows;
    plan.plan.device_bytes = device_bytes(plan, tuning);
    auto const arriving_bytes = plan.arriving_row_bytes() + plan.made_row_bytes;
    plan.plan.host_bytes = (kResultSets + 1) * plan.capacity_rows * arriving_bytes;
    auto fits = check_budgets(options, facts, plan.plan.device_bytes, plan.plan.host_bytes);
    if (fits || plan.range_rows <= kLeastRangeRows || asked_rows != 0) return fits;
    plan.range_rows = std::max(plan.range_rows / 2 / 4 * 4, kLeastRangeRows);
  }
}

std::string describe_queues(vk::DeviceTraits const& traits) {
  for (auto const& family : traits.queue_families)
    if (family.transfer && !family.graphics && !family.compute && !family.video)
      return family.count > 1
                 ? fmt::format("up and down on queues of their own (family {}), beside the passes", family.index)
                 : fmt::format("copies on a queue of their own (family {}), beside the passes", family.index);
  return "copies and passes on one queue";
}

StreamedShape shape_of(StreamedPlan const& plan, double matches) {
  StreamedShape shape;
  shape.build_rows = static_cast<double>(plan.build.rows);
  shape.probe_rows = static_cast<double>(plan.probe.rows);
  shape.matches = matches;
  shape.build_row_bytes = static_cast<double>(plan.build.row_bytes());
  shape.probe_row_bytes = static_cast<double>(plan.probe.row_bytes());
  shape.build_moved_bytes = static_cast<double>(plan.build.moved_bytes());
  shape.probe_moved_bytes = static_cast<double>(plan.probe.moved_bytes());
  shape.result_row_bytes = static_cast<double>(plan.result_row_bytes());
  shape.arriving_row_bytes = static_cast<double>(plan.arriving_row_bytes());
  for (auto const* side : {&plan.build, &plan.probe})
    for (auto const column : side->gathered) {
      auto const value_bytes = static_cast<double>(materialize::column_row_bytes(side->table, column));
      shape.gathered.emplace_back(value_bytes, value_bytes * static_cast<double>(side->rows));
    }
  shape.key_bytes = static_cast<double>(plan.build.columns[0].words * materialize::kWordBytes);
  shape.range_rows = static_cast<double>(plan.range_rows);
  shape.copy_threads = plan.copy_threads;
  return shape;
}

contract::JoinOffer offer_of(contract::JoinInquiry const& inquiry, StreamedPlan const& plan) {
  auto offer = vulkan::device_join_offer(Path::compute, inquiry);
  auto const matches = inquiry.shape.is_unseen ? static_cast<double>(plan.probe.rows) : inquiry.shape.expected_matches;
  describe_whole(inquiry, offer);
  offer.source = contract::TableSource::ranges;
  contract::set_phases(offer.candidate,
                       streamed_join_costs(shape_of(plan, matches), inquiry.facts().rates(), inquiry.host));
  offer.key_bits = plan.build.columns[0].words * 32;
  offer.slice_rows = plan.range_rows;
  offer.chunk_rows = plan.batch_rows;
  offer.device_bytes = plan.plan.device_bytes;
  offer.host_bytes = plan.plan.host_bytes;
  offer.details.emplace_back(
      "placement", fmt::format("device: both tables go there whole, build side {}, probe side in ranges of {} rows",
                               plan.build_is_left ? "left" : "right", plan.range_rows));
  offer.details.emplace_back("queues", describe_queues(*inquiry.facts().vulkan));
  return offer;
}

}  // namespace

Result<contract::JoinOffer> offer_streamed_join(contract::JoinInquiry const& inquiry) {
  auto const& request = *inquiry.shape.tables;
  auto const& facts = inquiry.facts();
  auto const key_type = streamed_key_type(request);
  GARUDA_EXPECTS(key_type);
  GARUDA_TRY(check_shape(request));
  GARUDA_TRY(check_placement(facts, inquiry.options.tuning.placement));
  GARUDA_TRY_ASSIGN(auto const tuning, compute::compute_tuning(*facts.vulkan));
  StreamedPlan plan;
  place(request, *key_type, plan);
  for (auto const* side : {&plan.build, &plan.probe}) GARUDA_TRY(check_buffers(side->columns, side->rows, facts));
  GARUDA_TRY(size(request, facts, tuning, plan));
  plan.copy_threads = copy_threads(inquiry);
  return offer_of(inquiry, plan);
}

StreamedPlan streamed_plan(resolve::JoinRequest const& request, contract::JoinOffer const& offer, Plan plan) {
  StreamedPlan streamed;
  place(request, *streamed_key_type(request), streamed);
  streamed.plan = std::move(plan);
  streamed.tuning = offer.tuning;
  streamed.device = *offer.device;
  streamed.range_rows = streamed.capacity_rows = offer.slice_rows;
  streamed.batch_rows = offer.chunk_rows;
  streamed.copy_threads = offer.lanes;
  return streamed;
}

std::uint64_t StreamedSide::moved_bytes() const noexcept {
  return row_bytes() + (numbers_rows() ? materialize::kWordBytes : 0);
}

std::uint64_t StreamedPlan::result_row_bytes() const noexcept {
  return build.moved_bytes() + probe.moved_bytes() - std::uint64_t{build.columns[0].words} * materialize::kWordBytes;
}

std::uint64_t StreamedPlan::arriving_row_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (auto const& words : arriving) bytes += words.words * materialize::kWordBytes;
  return bytes;
}

}  // namespace garuda::placement
