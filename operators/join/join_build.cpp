#include "operators/join/join_build.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>

#include "core/task_threads.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/contract/key_span.hpp"
#include "operators/plan/join_planner.hpp"
#include "operators/plan/path_choice.hpp"
#include "operators/run/join_slices.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::join {
namespace {

keys::ComparedKey compared_key(Field const& build, Field const& probe, DataType compared) {
  auto const is_bytes = [](Field const& field) { return keys::has_bytes(field.type); };
  return {std::move(compared), is_bytes(build) && is_bytes(probe)};
}

std::uint64_t bytes_of(resolve::BuiltSide const& side) {
  return side.keys->owned_bytes() + side.partitioned.owned_bytes() + side.tables.bytes();
}

}  // namespace

std::vector<contract::KeySpan> pieces_of(partition::PartitionedKeys const& keys) {
  std::vector<contract::KeySpan> pieces;
  for (std::uint32_t p = 0; p < keys.num_partitions(); ++p)
    for (auto first = keys.offsets[p]; first < keys.offsets[p + 1]; first += contract::kMaxPassRows)
      pieces.push_back(run::keys_of(keys, p, {first, std::min(first + contract::kMaxPassRows, keys.offsets[p + 1])}));
  return pieces;
}

contract::PathRow const& path_of_tables() {
  auto const paths = plan::paths();
  auto const path = std::ranges::find_if(paths, [](auto const* row) { return row->join.build_tables != nullptr; });
  GARUDA_EXPECTS(path != paths.end());
  return **path;
}

std::uint64_t JoinBuildState::host_bytes() const {
  std::lock_guard const lock(mutex_);
  std::uint64_t bytes = 0;
  for (auto const& [compared, side] : sides_) bytes += bytes_of(*side);
  return bytes;
}

Result<void> JoinBuildState::make() {
  if (table_.resident() != nullptr)
    return fail(ErrorCode::usage, "a build side is made of a table of the host; a table on a device keeps an index");
  std::vector<Field> own;
  for (auto const column : columns_) own.push_back(table_.schema()[column]);
  GARUDA_TRY(side_for(own, options_.control));
  return {};
}

Result<void> JoinBuildState::give_to(resolve::JoinRequest& request) {
  if (request.spec.nulls_equal != options_.nulls_equal)
    return fail(ErrorCode::usage, fmt::format("the build side was made with nulls_equal={}", options_.nulls_equal));
  auto& pairs = request.columns.keys;
  std::vector<resolve::KeyPair> in_order;
  for (auto const column : columns_) {
    auto const pair = std::ranges::find(pairs, column, &resolve::KeyPair::right);
    if (pair != pairs.end()) in_order.push_back(*pair);
  }
  if (in_order.size() != columns_.size() || pairs.size() != columns_.size())
    return fail(ErrorCode::usage, fmt::format("the right keys of a join are those that its build side was made for: {}",
                                              fmt::join(names_, ", ")));
  auto const& tuning = request.options.tuning;
  if (tuning.placement == Placement::device || tuning.build == BuildSide::left)
    return fail(ErrorCode::usage,
                "a build side of the host's table is the right side of a join in slices, which "
                "placement=device and build=left contradict");
  std::vector<Field> probe;
  for (auto const& pair : in_order) probe.push_back(request.left.schema()[pair.left]);
  pairs = std::move(in_order);
  GARUDA_TRY_ASSIGN(request.build, side_for(probe, request.options.control));
  auto const bits = static_cast<std::int32_t>(request.build->digit.bits);
  if (tuning.radix_bits >= 0 && tuning.radix_bits != bits)
    return fail(ErrorCode::usage, fmt::format("the build side was made with radix_bits={}", bits));
  return {};
}

Result<std::shared_ptr<resolve::BuiltSide const>> JoinBuildState::side_for(std::span<Field const> probe,
                                                                           Control const& control) {
  GARUDA_EXPECTS(probe.size() == columns_.size());
  Compared compared;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    auto const& build = table_.schema()[columns_[k]];
    GARUDA_TRY_ASSIGN(auto type, keys::common_key_type(probe[k], build));
    compared.push_back(compared_key(build, probe[k], std::move(type.compared)));
  }
  return side_of(compared, control);
}

Result<std::shared_ptr<resolve::BuiltSide const>> JoinBuildState::side_of(Compared const& compared,
                                                                          Control const& control) {
  // Others that need the same side wait for it.
  std::lock_guard const lock(mutex_);
  for (auto const& [types, side] : sides_)
    if (types == compared) return side;
  GARUDA_TRY_ASSIGN(auto side, on_threads(options_.threads, [&] { return make(compared, control); }));
  sides_.emplace_back(compared, side);
  return side;
}

Result<std::shared_ptr<resolve::BuiltSide const>> JoinBuildState::make(Compared const& compared,
                                                                       Control const& control) const {
  auto side = std::make_shared<resolve::BuiltSide>();
  auto const nulls = options_.nulls_equal ? keys::NullKeys::kept : keys::NullKeys::left_out;
  std::optional<contract::PhaseTimer> timer(std::in_place, stats_, "encode");
  GARUDA_TRY_ASSIGN(auto keys, keys::BuildKeys::create({table_, columns_}, compared, nulls, control));
  timer.emplace(stats_, "partition");
  auto words = keys->take_words();
  GARUDA_TRY(check_memory(words));
  // A probe side's keys may differ in bits that all keys of a build side share.
  words.common_low_bits = 0;
  GARUDA_TRY_ASSIGN(auto const bits, radix_bits(words));
  GARUDA_TRY_ASSIGN(auto chosen, partition::choose_digit(words, words, bits, control));
  side->digit = chosen.digit;
  side->words = words.borrowed();
  partition::PartitionOptions options;
  options.ranges = true;
  options.counts = std::move(chosen.right);
  GARUDA_TRY_ASSIGN(side->partitioned,
                    partition::radix_partition(std::move(words), side->digit, control, std::move(options)));
  side->words.words = side->partitioned.keys;
  side->keys = std::move(keys);
  auto const pieces = pieces_of(side->partitioned);
  timer.emplace(stats_, "build");
  GARUDA_TRY(
      path_of_tables().join.build_tables(pieces, partition::shared_low_bits(side->digit), control, side->tables));
  return side;
}

/// Errors: limit_exceeded for keys whose words, row ids and tables take more than the limit.
Result<void> JoinBuildState::check_memory(keys::EncodedKeys const& words) const {
  auto const limit = options_.memory_limit_bytes;
  auto const rows = words.num_rows;
  auto const words_bytes = rows * (words.key_bits / 8 + contract::row_id_bytes(words.table_rows));
  // The words are there twice while they are partitioned.
  auto const bytes = 2 * words_bytes + path_of_tables().join.feeding.host_bytes(rows, 0, words.key_bits);
  if (limit == 0 || bytes <= limit) return {};
  return fail(
      ErrorCode::limit_exceeded,
      fmt::format("a build side of {} rows needs {} bytes of host memory, over the limit: {}", rows, bytes, limit));
}

/// Plans a join with a table of as many rows, whose keys are those of the build side.
Result<std::uint32_t> JoinBuildState::radix_bits(keys::EncodedKeys const& words) const {
  auto const sampled = plan::sample_keys(words);
  contract::JoinShape shape;
  shape.parts = contract::parts_of(JoinKind::inner);
  shape.key_bits = words.key_bits;
  shape.threads = static_cast<std::uint32_t>(oneapi::tbb::this_task_arena::max_concurrency());
  shape.free_host_bytes = run::free_host_bytes();
  shape.encoded_bytes = static_cast<std::uint64_t>(words.owned_words.size_bytes() + words.row_ids.size_bytes());
  shape.left.rows = words.num_rows;
  shape.right = {.rows = words.num_rows,
                 .key_range = words.num_rows == 0 ? 0 : words.max - words.min + 1,
                 .distinct = sampled.distinct,
                 .heaviest = sampled.heaviest_share,
                 .is_built = true};
  JoinOptions options;
  options.path = path_of_tables().path;
  options.threads = options_.threads;
  options.memory_limit_bytes = options_.memory_limit_bytes;
  options.tuning.radix_bits = options_.radix_bits;
  options.tuning.build = BuildSide::right;
  GARUDA_TRY_ASSIGN(auto const planned, plan::plan_join(shape, plan::machine_of(devices_, shape.threads), options));
  return planned.plan.radix_bits;
}

}  // namespace garuda::join

namespace garuda {

JoinBuild::JoinBuild(std::shared_ptr<join::JoinBuildState> state) : state_(std::move(state)) {}
TableView JoinBuild::table() const noexcept { return state_->table(); }
std::vector<std::string> const& JoinBuild::keys() const noexcept { return state_->names(); }
std::uint64_t JoinBuild::host_bytes() const { return state_->host_bytes(); }

}  // namespace garuda
