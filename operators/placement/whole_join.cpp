#include "operators/placement/whole_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "expr/sides.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/join/resident_join_strategies.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/join/composed_keys.hpp"
#include "operators/device/join/device_condition.hpp"
#include "operators/device/streamed/streamed_join.hpp"
#include "operators/device/streamed/streamed_tables.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/placement/whole_offer.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::placement {
namespace {

/// Copies of the joined rows on the device: partitions are moved from one to another.
constexpr std::uint64_t kJoinCopies = 2;
constexpr std::uint64_t kMostSideRows = std::uint64_t{1} << 31;
/// Ranges of the probe side: so many that copies both ways overlap for most of the time, but not so few rows that the
/// tables of the build side, which every range builds, cost more than the copies.
constexpr std::uint64_t kRanges = 8;
constexpr std::uint64_t kLeastRangeRows = std::uint64_t{1} << 20;
constexpr std::uint64_t kStreamedBatchRows = std::uint64_t{1} << 23;

/// Both tables, with the columns that the join reads, on a device, or laid out without memory there. The request refers
/// to them.
struct TablesThere {
  std::vector<DeviceTable> tables;  ///< left, right
  resolve::JoinRequest request;
};

/// The request for `tables`, which hold the columns that it reads.
Result<TablesThere> request_there(resolve::JoinRequest request, std::vector<DeviceTable> tables) {
  request.left = tables[0].view();
  request.right = tables[1].view();
  // Joins without pairs give the left rows of host tables in their order.
  request.spec.ordered = request.spec.ordered || !request.columns.parts.pairs;
  GARUDA_TRY_ASSIGN(request.columns,
                    resolve::resolve_join(request.left.schema(), request.right.schema(), request.spec));
  return TablesThere{std::move(tables), std::move(request)};
}

/// Bytes and values that go up.
struct UploadSize {
  std::uint64_t bytes = 0;
  std::uint64_t converted = 0;  ///< values that the host converts
};

/// Strings that are not compared stay where they are. Errors: usage, naming the column.
Result<void> check_columns(resolve::JoinRequest const& request, Side side, std::span<std::size_t const> columns) {
  auto const& schema = request.of(side).schema();
  auto compared = request.columns.key_columns(side);
  if (request.columns.condition)
    for (auto const& column : request.columns.condition->columns(side)) compared.push_back(column.column);
  for (auto const column : columns) {
    auto const& type = schema[column].type;
    bool const is_compared = std::ranges::find(compared, column) != compared.end();
    if (is_compared ? device::stored_words(type) : device::device_words(type)) continue;
    return fail(ErrorCode::usage, fmt::format("beside keys and what is compared, tables brought to a device whole have "
                                              "columns of fixed width: '{}' is {}",
                                              schema[column].name, to_string(type)));
  }
  return {};
}

/// Adds the upload of a column of strings: offsets, bytes, and codes.
void add_strings(device::DeviceTableState const& table, device::Strings const& strings, UploadSize& size) {
  for (auto const& piece : strings.pieces) {
    size.bytes += piece->count * materialize::kWordBytes + piece->num_bytes;
    size.converted += piece->count;
  }
  size.bytes += table.rows * materialize::kWordBytes;
}

/// Lays out both tables. Errors: usage, limit_exceeded for columns that the device does not hold.
Result<TablesThere> lay_out(contract::JoinInquiry const& inquiry, UploadSize& size) {
  auto const& request = *inquiry.shape.tables;
  device::TableDevice device;
  device.info = inquiry.facts().info;
  std::vector<DeviceTable> tables;
  for (auto const side : kSides) {
    auto const& table = request.of(side);
    GARUDA_TRY_ASSIGN(auto const columns, resolve::columns_read(request, side));
    GARUDA_TRY(check_columns(request, side, columns));
    GARUDA_TRY_ASSIGN(auto one, device::lay_out_table(table, columns, device));
    GARUDA_TRY(check_buffers(one.columns, one.state->rows, inquiry.facts()));
    size.bytes += one.state->rows * device::row_bytes(one.columns);
    for (auto const& column : one.columns)
      if (!column.is_direct) size.converted += one.state->rows * column.sources.size();
    for (auto const& column : one.state->columns)
      if (column.strings != nullptr) add_strings(*one.state, *column.strings, size);
    tables.emplace_back(std::move(one.state));
  }
  return request_there(request, std::move(tables));
}

/// Both tables on the device, which those of the host are copied to.
Result<TablesThere> bring_there(resolve::JoinRequest const& request, contract::JoinOffer const& offer,
                                run::QueryRun& run) {
  if (offer.source == contract::TableSource::resident) return TablesThere{{}, request};
  GARUDA_TRY_ASSIGN(auto const device, open_device(*request.devices, *offer.device, run.recorder));
  device::UploadOptions const options{offer.tuning.upload, offer.lanes, request.options.control, &run.recorder};
  std::vector<DeviceTable> tables;
  std::uint64_t bytes = 0;
  for (auto const side : kSides) {
    GARUDA_TRY_ASSIGN(auto const columns, resolve::columns_read(request, side));
    GARUDA_TRY_ASSIGN(auto table, device::upload_table(request.of(side), columns, device, options));
    bytes += table.device_bytes();
    tables.push_back(std::move(table));
  }
  GARUDA_TRY_ASSIGN(auto there, request_there(request, std::move(tables)));
  there.request.options.device_memory_limit_bytes = device::limit_beside(there.request.options, bytes);
  return there;
}

/// Errors: usage, invalid_input.
Result<void> check_uploaded(resolve::JoinRequest const& request) {
  if (request.columns.condition)
    GARUDA_TRY(
        device::check_device_condition(request.left.schema(), request.right.schema(), *request.columns.condition));
  return device::check_whole_keys(request.left.schema(), request.right.schema(), request.columns);
}

/// Bytes that a row of the result takes on its way down.
double down_row_bytes(TablesThere const& there) {
  double bytes = 0;
  for (auto const& output : there.request.columns.output) {
    auto const& table = there.request.of(output.side);
    auto const& strings = table.resident()->columns[output.column].strings;
    bytes += static_cast<double>(materialize::kWordBytes *
                                 device::stored_words(table.schema()[output.column].type).value_or(1));
    if (strings == nullptr || strings->count() == 0) continue;
    auto const& piece = *strings->pieces.front();
    bytes += static_cast<double>(piece.num_bytes) / static_cast<double>(piece.count);
  }
  return bytes;
}

/// How keys of several columns are compared.
std::string how(compute::ComposedKeyShape const& keys) {
  auto const columns = fmt::format("{} column{}", keys.columns, keys.columns == 1 ? "" : "s");
  if (keys.numbered_words == 0) return fmt::format("{} packed in {} bits on the device", columns, keys.bits);
  return fmt::format("{}, {} words, numbered on the device", columns, keys.numbered_words);
}

std::uint64_t join_bytes(compute::ResidentJoinShape const& shape, compute::ResidentJoinStrategy const& strategy) {
  double moved = 0;
  for (auto const* side : {&shape.left, &shape.right}) moved += side->rows * (shape.key_bytes + side->payload_bytes);
  if (strategy.method == JoinMethod::bitmap) {
    auto const& build = shape.of(*strategy.build);
    moved = static_cast<double>(compute::bitmap_bytes(static_cast<std::uint64_t>(*build.key_span)));
    if (strategy.scattered_by != 0) moved += build.rows * shape.key_bytes / kJoinCopies;
  }
  auto const row_bytes = shape.key_bytes + shape.left.payload_bytes + shape.right.payload_bytes;
  auto const rows = shape.counts ? 0 : std::max({shape.left.rows, shape.right.rows, shape.matches});
  auto numbered = static_cast<std::uint64_t>(compute::composed_key_bytes(shape.composed));
  for (auto const& strings : shape.strings)
    if (!strings.are_kept)
      numbered += compute::string_numbers_scratch_bytes(static_cast<std::uint64_t>(strings.strings));
  return numbered + static_cast<std::uint64_t>(kJoinCopies * moved + rows * row_bytes);
}

/// Offers the strategies that the tuning allows, priced for so many `matches`. `request` is about tables of a device,
/// or tables that are laid out for one, whose keys are not looked at.
Result<std::vector<contract::JoinOffer>> offer_strategies(contract::JoinInquiry const& inquiry,
                                                          resolve::JoinRequest const& request, double matches) {
  auto const& asked = inquiry.options.tuning;
  auto const& facts = inquiry.facts();
  GARUDA_TRY_ASSIGN(auto const tuning, compute::compute_tuning(*facts.vulkan));
  GARUDA_TRY_ASSIGN(auto shape, device::resident_join_shape(request, inquiry.shape.output.empty()));
  shape.asked = asked;
  shape.matches = matches;
  if (asked.build != BuildSide::automatic) shape.build = asked.build == BuildSide::left ? Side::left : Side::right;
  if (inquiry.shape.resident_on) GARUDA_TRY(device::look_at_keys(request, facts.rates(), tuning, shape));
  GARUDA_TRY_ASSIGN(auto const strategies, compute::resident_join_strategies(shape, facts.rates(), tuning));
  std::vector<contract::JoinOffer> offers;
  for (auto const& strategy : strategies) {
    auto& offer = offers.emplace_back(contract::device_join_offer(Path::compute, inquiry));
    offer.tuning = compute::forcing(strategy, asked);
    describe_whole(inquiry, offer);
    for (auto const& strings : shape.strings)
      if (strings.strings > 0) describe(strings, offer);
    if (shape.composed.columns > 0) offer.details.emplace_back("composed keys", how(shape.composed));
    if (compute::uses_index(shape, strategy))
      offer.details.emplace_back("index", fmt::format("kept with the {} table", to_string(*strategy.build)));
    offer.key_bits = static_cast<std::uint32_t>(8 * shape.key_bytes);
    offer.device_bytes = join_bytes(shape, strategy);
    contract::set_phases(offer.candidate, compute::resident_join_costs(shape, strategy, facts.rates(), tuning));
  }
  return offers;
}

/// The strategies for tables that go there first, with the prices of their way up and of the rows' way down.
Result<std::vector<contract::JoinOffer>> offer_upload(contract::JoinInquiry const& inquiry) {
  auto const& facts = inquiry.facts();
  auto const& shape = inquiry.shape;
  GARUDA_TRY(check_uploaded(*shape.tables));
  GARUDA_TRY(check_placement(facts, inquiry.options.tuning.placement));
  UploadSize size;
  GARUDA_TRY_ASSIGN(auto const there, lay_out(inquiry, size));
  auto const matches = std::max(shape.expected_matches, shape.left.matched);
  GARUDA_TRY_ASSIGN(auto offers, offer_strategies(inquiry, there.request, matches));
  auto const row_bytes = down_row_bytes(there);
  auto const rows = shape.output.empty() ? 0 : contract::result_rows(shape);
  CarriedShape const carried{static_cast<double>(size.bytes), rows * row_bytes, static_cast<double>(size.converted),
                             copy_threads(inquiry)};
  for (auto& offer : offers) {
    offer.device_bytes += size.bytes;
    auto const batch_rows = std::min(static_cast<double>(offer.chunk_rows), rows);
    offer.host_bytes = static_cast<std::uint64_t>(static_cast<double>(kHostBatches) * batch_rows * row_bytes);
    GARUDA_TRY(check_budgets(inquiry.options, facts, offer.device_bytes, offer.host_bytes));
    auto there_ns = std::exchange(offer.candidate.phases_ns, {});
    contract::set_phases(offer.candidate, carried_costs(carried, std::move(there_ns), facts.rates(), inquiry.host));
    offer.details.emplace_back("placement", fmt::format("device: both tables go there whole, {} bytes", size.bytes));
  }
  return offers;
}

/// Errors: usage for tables that do not go there in ranges.
Result<void> check_streamed(resolve::JoinRequest const& request) {
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

/// Device bytes for copies of the rows without null keys, of so many rows of a side; 0 where no key is null.
std::uint64_t non_null_bytes(device::StreamedTables const& tables, Side side, std::uint64_t rows) {
  if (!tables.sides().of(side).key_nulls()) return 0;
  return rows * (tables.moved_row_bytes(side) + 3 * materialize::kWordBytes);
}

/// Device bytes with ranges of so many rows, about.
std::uint64_t streamed_bytes(device::StreamedTables const& tables, compute::ComputeTuning const& tuning,
                             std::uint64_t range_rows) {
  auto const [build, probe] = std::pair(tables.build(), tables.probe());
  auto const build_rows = tables.of(build).rows();
  auto const joined = compute::rows_join_bytes({build_rows, tables.moved_row_bytes(build)},
                                               {range_rows, tables.moved_row_bytes(probe)}, tuning);
  std::uint64_t uploaded = 0;
  for (auto const side : kSides) uploaded += tables.of(side).rows() * device::row_bytes(tables.of(side).columns);
  return uploaded + joined + non_null_bytes(tables, build, build_rows) + non_null_bytes(tables, probe, range_rows) +
         device::kResultSets * range_rows * tables.result_row_bytes() + kSpareBytes;
}

/// Host bytes of a row of the result in columns that are made of what came down, or gathered, about.
std::uint64_t made_row_bytes(resolve::JoinRequest const& request, device::StreamedTables const& tables) {
  std::uint64_t bytes = 0;
  for (auto const& [side, column] : request.columns.output) {
    auto const& table = tables.of(side);
    bool const arrives = std::ranges::any_of(
        table.columns, [&](device::UploadColumn const& one) { return one.is_direct && one.sources[0] == column; });
    if (!arrives) bytes += materialize::column_row_bytes(table.host, column);
  }
  return bytes;
}

/// Finds the sizes: a foreign key finds its primary key, so a set of result columns has a range's rows; ranges whose
/// rows multiply are cut. Errors: limit_exceeded.
Result<void> size_ranges(contract::JoinInquiry const& inquiry, device::StreamedTables const& tables,
                         contract::JoinOffer& offer) {
  auto const& options = inquiry.options;
  GARUDA_TRY_ASSIGN(auto const tuning, compute::compute_tuning(*inquiry.facts().vulkan));
  auto const probe_rows = tables.of(tables.probe()).rows();
  auto const asked_rows = options.tuning.slice_rows;
  auto& rows = offer.slice_rows;
  rows = asked_rows != 0 ? asked_rows : std::max(probe_rows / kRanges, kLeastRangeRows);
  rows = std::min((rows + 3) / 4 * 4, (probe_rows + 3) / 4 * 4);
  auto const host_row_bytes = tables.arriving_row_bytes() + made_row_bytes(*inquiry.shape.tables, tables);
  while (true) {
    offer.device_bytes = streamed_bytes(tables, tuning, rows);
    offer.host_bytes = (device::kResultSets + 1) * rows * host_row_bytes;
    auto fits = check_budgets(options, inquiry.facts(), offer.device_bytes, offer.host_bytes);
    if (fits || rows <= kLeastRangeRows || asked_rows != 0) return fits;
    rows = std::max(rows / 2 / 4 * 4, kLeastRangeRows);
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

StreamedShape streamed_shape(contract::JoinInquiry const& inquiry, device::StreamedTables const& tables,
                             contract::JoinOffer const& offer) {
  auto const [build, probe] = std::pair(tables.build(), tables.probe());
  StreamedShape shape;
  shape.build_rows = static_cast<double>(tables.of(build).rows());
  shape.probe_rows = static_cast<double>(tables.of(probe).rows());
  shape.matches = inquiry.shape.is_unseen ? shape.probe_rows : inquiry.shape.expected_matches;
  shape.build_row_bytes = static_cast<double>(device::row_bytes(tables.of(build).columns));
  shape.probe_row_bytes = static_cast<double>(device::row_bytes(tables.of(probe).columns));
  shape.build_moved_bytes = static_cast<double>(tables.moved_row_bytes(build));
  shape.probe_moved_bytes = static_cast<double>(tables.moved_row_bytes(probe));
  shape.result_row_bytes = static_cast<double>(tables.result_row_bytes());
  shape.arriving_row_bytes = static_cast<double>(tables.arriving_row_bytes());
  for (auto const side : {build, probe})
    for (auto const column : tables.of(side).gathered) {
      auto const value_bytes = static_cast<double>(materialize::column_row_bytes(tables.of(side).host, column));
      shape.gathered.emplace_back(value_bytes, value_bytes * static_cast<double>(tables.of(side).rows()));
    }
  shape.key_bytes = static_cast<double>(tables.sides().key_words * materialize::kWordBytes);
  shape.range_rows = static_cast<double>(offer.slice_rows);
  shape.copy_threads = offer.lanes;
  return shape;
}

/// One strategy, by partitions, whose probe side goes there in ranges.
Result<std::vector<contract::JoinOffer>> offer_ranges(contract::JoinInquiry const& inquiry) {
  auto const& request = *inquiry.shape.tables;
  auto const& facts = inquiry.facts();
  GARUDA_TRY(check_streamed(request));
  GARUDA_TRY(check_placement(facts, inquiry.options.tuning.placement));
  GARUDA_TRY_ASSIGN(auto const tables, device::StreamedTables::create(request, {{}, facts.info}, std::nullopt));
  for (auto const side : kSides) GARUDA_TRY(check_buffers(tables.of(side).columns, tables.of(side).rows(), facts));
  auto offer = contract::device_join_offer(Path::compute, inquiry);
  describe_whole(inquiry, offer);
  offer.source = contract::TableSource::ranges;
  GARUDA_TRY(size_ranges(inquiry, tables, offer));
  if (inquiry.options.tuning.chunk_rows == 0) offer.chunk_rows = kStreamedBatchRows;
  auto const shape = streamed_shape(inquiry, tables, offer);
  contract::set_phases(offer.candidate, streamed_join_costs(shape, facts.rates(), inquiry.host));
  offer.key_bits = tables.sides().key_words * 32;
  offer.details.emplace_back(
      "placement", fmt::format("device: both tables go there whole, build side {}, probe side in ranges of {} rows",
                               to_string(tables.build()), offer.slice_rows));
  offer.details.emplace_back("queues", describe_queues(*facts.vulkan));
  return std::vector{std::move(offer)};
}

/// Rows of pairs in any order come down while others go up, where keys are words of the tables.
bool is_streamed(contract::JoinInquiry const& inquiry) {
  auto const& spec = inquiry.shape.tables->spec;
  return spec.kind == JoinKind::inner && !spec.nulls_equal && !spec.ordered && !spec.where &&
         !inquiry.shape.output.empty() && device::streamed_key_type(*inquiry.shape.tables).has_value();
}

}  // namespace

Result<std::vector<contract::JoinOffer>> offer_whole_join(contract::JoinInquiry const& inquiry) {
  if (inquiry.shape.resident_on)
    return offer_strategies(inquiry, *inquiry.shape.tables, inquiry.shape.expected_matches);
  return is_streamed(inquiry) ? offer_ranges(inquiry) : offer_upload(inquiry);
}

Result<std::unique_ptr<JoinResult>> join_whole_tables(resolve::JoinRequest const& request,
                                                      contract::JoinOffer const& offer, Plan plan) {
  auto run = std::make_unique<run::QueryRun>(request.options);
  if (offer.source == contract::TableSource::ranges) {
    GARUDA_TRY_ASSIGN(auto const device, open_device(*request.devices, *offer.device, run->recorder));
    return device::streamed_join(request, device, offer, std::move(plan), std::move(run));
  }
  GARUDA_TRY_ASSIGN(auto const there, bring_there(request, offer, *run));
  auto const strategy = compute::forced(offer.tuning, request.columns.parts, false);
  return device::join_device_tables(there.request, std::move(plan), strategy, std::move(run));
}

Result<Engine::Counted> count_whole_join(resolve::JoinRequest const& request, contract::JoinOffer const& offer,
                                         Plan plan) {
  run::QueryRun run(request.options);
  GARUDA_TRY_ASSIGN(auto const there, bring_there(request, offer, run));
  auto const strategy = compute::forced(offer.tuning, request.columns.parts, true);
  GARUDA_TRY_ASSIGN(auto const rows, device::count_device_tables(there.request, strategy, run.recorder));
  auto stats = run.stats(plan);
  stats.rows_left = static_cast<std::uint64_t>(request.left.num_rows());
  stats.rows_right = static_cast<std::uint64_t>(request.right.num_rows());
  stats.rows_out = rows;
  return Engine::Counted{rows, std::move(plan), std::move(stats)};
}

}  // namespace garuda::placement
