#include "operators/join/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expr/condition_columns.hpp"
#include "expr/condition_parts.hpp"
#include "garuda/condition.hpp"
#include "keys/samples/match_sample.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/host_copies.hpp"
#include "operators/device/join/composed_keys.hpp"
#include "operators/device/join/device_condition.hpp"
#include "operators/join/gathered_join.hpp"
#include "operators/join/hash_join.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/plan/join_planner.hpp"
#include "operators/plan/path_choice.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::join {
namespace {

/// Costs of the result's columns, those that lanes can write themselves above all. `words_tell`: the key words tell
/// what the key column's values are.
std::vector<contract::OutputShape> output_shape(resolve::JoinRequest const& request, JoinOutput output,
                                                bool words_tell) {
  std::vector<contract::OutputShape> shapes;
  if (output == JoinOutput::count) return shapes;
  for (auto const& column : request.columns.output) {
    auto const& table = request.of(column.side);
    auto const is_key = words_tell && request.columns.key_of(column);
    auto const makes_rows = output == JoinOutput::rows;
    auto const is_plain = makes_rows && materialize::is_plain(table, column.column);
    // Views refer to the table's strings.
    bool const may_be_cells = makes_rows && !is_plain && request.columns.strings != StringForm::view;
    shapes.push_back({column.side, column.column,
                      static_cast<double>(materialize::column_row_bytes(table, column.column)), makes_rows && is_key,
                      is_plain, may_be_cells ? materialize::expected_carried_bytes(table, column.column) : 0.0,
                      column.side == Side::left || request.build == nullptr});
  }
  return shapes;
}

/// Whether a path may join the tables whole.
bool may_be_whole(resolve::JoinRequest const& request, JoinOutput output) {
  return output != JoinOutput::pairs && !request.columns.keys.empty() && request.build == nullptr &&
         !is_ordered_by_ranges(request);
}

/// Notes that the request's condition, if it has one, is tested on so many pairs.
void add_condition(resolve::JoinRequest const& request, double pairs, contract::JoinShape& shape) {
  auto const& condition = request.columns.condition;
  if (!condition) return;
  shape.tested_pairs = pairs;
  shape.left.tested_columns = condition->left.size();
  shape.right.tested_columns = condition->right.size();
}

/// The shape that is known of any join.
contract::JoinShape outline_of(resolve::JoinRequest const& request, JoinOutput output, std::uint32_t threads,
                               bool words_tell) {
  contract::JoinShape shape;
  shape.parts = request.columns.parts;
  shape.output = output_shape(request, output, words_tell);
  shape.threads = threads;
  shape.free_host_bytes = run::free_host_bytes();
  if (may_be_whole(request, output)) shape.tables = &request;
  return shape;
}

/// A shape with keys that favour paths which look at keys.
contract::JoinShape unseen_shape(resolve::JoinRequest const& request, JoinOutput output, std::uint32_t threads) {
  auto shape = outline_of(request, output, threads, request.columns.keys.size() == 1);
  shape.left.rows = static_cast<std::uint64_t>(request.left.num_rows());
  shape.right.rows = static_cast<std::uint64_t>(request.right.num_rows());
  shape.left.key_range = shape.right.key_range = std::max(shape.left.rows, shape.right.rows);
  auto const pairs = static_cast<double>(shape.left.key_range);
  add_condition(request, pairs, shape);
  if (shape.parts.pairs && output != JoinOutput::count) shape.expected_matches = pairs;
  contract::estimate_matched(shape, pairs);
  shape.is_unseen = true;
  return shape;
}

std::uint64_t key_range(keys::EncodedKeys const& keys) { return keys.num_rows == 0 ? 0 : keys.max - keys.min + 1; }

contract::JoinShape shape_of(resolve::JoinRequest const& request, keys::EncodedJoinKeys const& keys, JoinOutput output,
                             std::uint32_t threads) {
  auto shape = outline_of(request, output, threads, keys.base.has_value());
  shape.key_bits = keys.left.key_bits;
  for (auto const* side : {&keys.left, &keys.right}) {
    auto const sampled = plan::sample_keys(*side);
    (side == &keys.left ? shape.left : shape.right) = {.rows = side->num_rows,
                                                       .null_key_rows = side->table_rows - side->num_rows,
                                                       .key_range = key_range(*side),
                                                       .distinct = sampled.distinct,
                                                       .heaviest = sampled.heaviest_share};
    shape.encoded_bytes += static_cast<std::uint64_t>(side->owned_words.size_bytes() + side->row_ids.size_bytes());
  }
  shape.right.is_built = request.build != nullptr;
  bool const counts = output == JoinOutput::count;
  if (counts && !request.spec.where) return shape;
  auto const pairs = keys::expected_matches(keys.left, keys.right);
  add_condition(request, pairs, shape);
  if (counts) return shape;
  if (shape.parts.pairs) shape.expected_matches = pairs;
  contract::estimate_matched(shape, pairs);
  return shape;
}

/// Whether lanes can write the rows of pairs: not where nulls stand among words that tell keys' values, nor where a key
/// column of both sides has another type than the left one's, and words do not tell its values.
bool can_lanes_write(resolve::JoinRequest const& request, keys::EncodedJoinKeys const& keys) {
  if (keys.base) return !keys.has_nulls;
  auto const& columns = request.columns;
  return std::ranges::all_of(columns.output, [&](resolve::OutputColumn const& output) {
    auto const key = columns.shared_key(output);
    auto const& type = request.left.schema()[output.column].type;
    return !key || columns.shared_key_type(*key) == in_form(type, columns.strings);
  });
}

std::string describe_keys(keys::EncodedJoinKeys const& keys, std::size_t columns) {
  auto const of = columns == 1 ? std::string() : fmt::format("{} columns, ", columns);
  if (keys.is_numbered) return of + "numbered: their codes take more than 64 bits";
  return fmt::format("{}packed into words of {} bits", of, keys.left.key_bits);
}

/// A plan that needs no look at the keys, if there is one.
Result<std::optional<plan::JoinPlan>> plan_unseen(resolve::JoinRequest const& request, JoinOutput output,
                                                  std::uint32_t threads) {
  auto const& options = request.options;
  if (!may_be_whole(request, output) ||
      !plan::may_take_tables(options, options.tuning.placement, request.devices->devices()))
    return std::nullopt;
  auto const shape = unseen_shape(request, output, threads);
  auto planned = plan::plan_join(shape, plan::machine_of(*request.devices, threads), options);
  // The answer of path automatic is of made-up keys.
  if (!planned && !options.picks_path()) return propagate(std::move(planned));
  if (!planned || !planned->offer.takes_whole()) return std::nullopt;
  return std::move(*planned);
}

/// "inner, nulls equal", the condition, and what was decided before.
void describe(resolve::JoinRequest const& request, Plan& plan) {
  auto const kind = fmt::format("{}{}", to_string(request.spec.kind), request.spec.nulls_equal ? ", nulls equal" : "");
  if (request.spec.where) plan.details.emplace(plan.details.begin(), "where", to_string(*request.spec.where));
  plan.details.emplace(plan.details.begin(), "kind", kind);
  plan.notes.insert(plan.notes.end(), request.notes.begin(), request.notes.end());
  for (auto const& table : {request.left, request.right})
    plan.inputs.push_back(plan::plan_of_table(*request.devices, device::device_of(table), table.num_rows()));
}

/// Plans a join of tables that live on a device. Their keys are looked at only where the choice depends on matches.
Result<PlannedJoin> plan_resident(resolve::JoinRequest const& request, JoinOutput output, run::QueryRun& run) {
  auto shape = unseen_shape(request, output, run.threads());
  shape.tables = &request;
  shape.resident_on = device::device_of(request.left);
  auto const machine = plan::machine_of(*request.devices, shape.threads);
  auto const plan = [&](double matches) {
    shape.expected_matches = matches;
    contract::estimate_matched(shape, matches);
    return plan::plan_join(shape, machine, request.options);
  };
  PlannedJoin planned;
  auto const described = [&] {
    describe(request, planned.chosen.plan);
    return std::move(planned);
  };
  auto const expected = static_cast<double>(request.options.expected_rows);
  auto const most = static_cast<double>(shape.left.key_range);
  GARUDA_TRY_ASSIGN(planned.chosen, plan(expected > 0 ? expected : most));
  if (expected > 0) return described();
  GARUDA_TRY_ASSIGN(auto const of_none, plan(0));
  if (of_none.offer.tuning == planned.chosen.offer.tuning) return described();
  auto const sample = plan::find_path(planned.chosen.plan.path)->join.sample_matches;
  run::PhaseTimer const timer(run.recorder, "estimate");
  GARUDA_TRY_ASSIGN(auto const matches, sample(request));
  GARUDA_TRY_ASSIGN(planned.chosen, plan(matches));
  return described();
}

/// Plans a join without keys: rows stay where they are, and match by the condition alone.
Result<PlannedJoin> plan_non_equi(resolve::JoinRequest const& request, JoinOutput output, run::QueryRun& run) {
  PlannedJoin planned;
  planned.output = output;
  std::uint64_t encoded_bytes = 0;
  {
    run::PhaseTimer const timer(run.recorder, "encode");
    auto encoded = std::make_shared<expr::EncodedCondition>();
    if (request.columns.condition) {
      GARUDA_TRY_ASSIGN(*encoded, run.arena.execute([&] {
        return expr::encode_condition(*request.columns.condition, request.left, request.right, request.options.control);
      }));
    }
    encoded_bytes = encoded->owned_bytes();
    planned.condition = {encoded, &encoded->condition};
  }
  run::PhaseTimer const timer(run.recorder, "plan");
  auto shape = outline_of(request, output, run.threads(), false);
  shape.tables = nullptr;
  shape.condition = planned.condition.get();
  shape.key_bits = 0;
  shape.encoded_bytes = encoded_bytes;
  shape.left.rows = static_cast<std::uint64_t>(request.left.num_rows());
  shape.right.rows = static_cast<std::uint64_t>(request.right.num_rows());
  if (output != JoinOutput::count) {
    auto const pairs = expr::expected_pairs(*planned.condition, shape.left.rows, shape.right.rows);
    if (shape.parts.pairs) shape.expected_matches = pairs;
    contract::estimate_matched(shape, pairs);
  }
  planned.expected_matches = shape.expected_matches;
  GARUDA_TRY_ASSIGN(planned.chosen,
                    plan::plan_join(shape, plan::machine_of(*request.devices, shape.threads), request.options));
  describe(request, planned.chosen.plan);
  return planned;
}

/// Whether a device joins tables by such keys; `stored`: that live there.
Result<void> check_keys_there(resolve::JoinRequest const& request, bool stored) {
  if (request.columns.keys.empty())
    return fail(ErrorCode::usage, "tables whole on a device have joins on keys, not by a condition alone");
  if (stored) return device::check_joined_keys(request);
  return device::check_whole_keys(request.left.schema(), request.right.schema(), request.columns);
}

/// Whether a device joins such tables; `stored`: that live there. Errors: usage or invalid_input, with what it joins.
Result<void> check_joined_there(resolve::JoinRequest const& request, bool stored) {
  if (auto const& condition = request.columns.condition) {
    auto const compared =
        stored ? device::check_stored_condition(request)
               : device::check_device_condition(request.left.schema(), request.right.schema(), *condition);
    if (!compared) return compared;
  }
  return check_keys_there(request, stored);
}

/// Makes of the request that for copies on the host, where tables live on a device that does not join them as they are
/// asked for, unless placement=device forces it to: returns the copies, which outlive the join, or nothing.
/// Blocks while it copies. Errors: usage (tables of different places; what placement=device cannot give), those of
/// HostCopies::add.
Result<std::optional<device::HostCopies>> bring_down(resolve::JoinRequest& request) {
  auto const left = device::device_of(request.left);
  auto const right = device::device_of(request.right);
  auto const name = [](auto const& device) { return device ? fmt::format("device {}", *device) : std::string("host"); };
  if (left != right)
    return fail(ErrorCode::usage, fmt::format("the tables are in different places: {}, {}", name(left), name(right)));
  bool const is_forced = request.options.tuning.placement == Placement::device;
  if (!left && !is_forced) return std::nullopt;
  auto const joined_there = check_joined_there(request, left.has_value());
  if (joined_there) return std::nullopt;
  if (is_forced)
    return fail(joined_there.error().code(), fmt::format("placement=device: {}", joined_there.error().message()));
  device::HostCopies copies;
  for (auto const side : {Side::left, Side::right}) {
    auto& table = side == Side::left ? request.left : request.right;
    GARUDA_TRY_ASSIGN(auto columns, resolve::columns_read(request, side));
    GARUDA_TRY_ASSIGN(table, copies.add(table, std::move(columns), request.options.control));
  }
  GARUDA_TRY_ASSIGN(request.columns,
                    resolve::resolve_join(request.left.schema(), request.right.schema(), request.spec));
  request.notes.push_back(copies.note(joined_there.error().message()));
  return copies;
}

/// The part of a tuning that is left for a join that only counts: it makes no rows and, unless a condition is tested on
/// them, writes no pairs, so how these are made decides nothing, the storage that a probe needs included.
JoinTuning counting_tuning(JoinTuning tuning, bool writes_pairs) {
  if (!writes_pairs) tuning.probe = Probe::automatic;
  tuning.payload = Payload::automatic;
  tuning.chunk_rows = 0;
  return tuning;
}

/// The keys of both tables, those of a build side being there already. Runs on the threads of the calling task arena.
Result<keys::EncodedJoinKeys> encode_keys(resolve::JoinRequest const& request) {
  auto const& columns = request.columns;
  auto const& control = request.options.control;
  keys::KeyColumns const left{request.left, columns.key_columns(Side::left)};
  if (auto const* const build = request.build.get()) {
    GARUDA_TRY_ASSIGN(auto keys, build->keys->encode(left, control));
    keys.right = build->words.borrowed();
    return keys;
  }
  return keys::encode_join_keys(left, {request.right, columns.key_columns(Side::right)}, control,
                                request.spec.nulls_equal ? keys::NullKeys::kept : keys::NullKeys::left_out);
}

/// The options that plan a join: with a build side, those that it was made with.
JoinOptions planned_options(resolve::JoinRequest const& request) {
  auto options = request.options;
  if (request.build == nullptr) return options;
  options.tuning.radix_bits = static_cast<std::int32_t>(request.build->digit.bits);
  options.tuning.build = BuildSide::right;
  return options;
}

}  // namespace

bool is_ordered_by_ranges(resolve::JoinRequest const& request) {
  return request.spec.ordered && request.columns.parts.pairs && request.left.resident() == nullptr &&
         request.options.tuning.placement != Placement::device;
}

Result<PlannedJoin> plan_request(resolve::JoinRequest const& request, JoinOutput output, run::QueryRun& run) {
  GARUDA_TRY(plan::check_path(request.options, request.options.tuning.placement, device::device_of(request.left)));
  if (request.left.resident() != nullptr) return plan_resident(request, output, run);
  PlannedJoin planned;
  if (output == JoinOutput::rows && !request.columns.parts.pairs) output = JoinOutput::marks;
  auto const& control = request.options.control;
  if (request.columns.keys.empty()) return plan_non_equi(request, output, run);
  GARUDA_TRY_ASSIGN(auto unseen, plan_unseen(request, output, run.threads()));
  if (unseen) {
    planned.chosen = std::move(*unseen);
    describe(request, planned.chosen.plan);
    return planned;
  }
  {
    run::PhaseTimer const timer(run.recorder, "encode");
    GARUDA_TRY_ASSIGN(planned.keys, run.arena.execute([&] { return encode_keys(request); }));
  }
  if (output == JoinOutput::rows && !can_lanes_write(request, planned.keys)) output = JoinOutput::pairs;
  planned.output = output;
  run::PhaseTimer const timer(run.recorder, "partition");
  auto const shape = shape_of(request, planned.keys, output, run.threads());
  planned.expected_matches = contract::pairs_made(shape);
  GARUDA_TRY_ASSIGN(planned.chosen, plan::plan_join(shape, plan::machine_of(*request.devices, shape.threads),
                                                    planned_options(request)));
  auto& plan = planned.chosen.plan;
  describe(request, plan);
  if (request.build != nullptr) plan.details.emplace_back("build side", "made before the join");
  plan.details.emplace(std::next(plan.details.begin()), "keys",
                       describe_keys(planned.keys, request.columns.keys.size()));
  if (planned.chosen.offer.takes_whole()) return planned;
  for (auto const c : planned.chosen.offer.carried) {
    auto const& moved = shape.output[c];
    auto const is_left = moved.side == Side::left;
    GARUDA_TRY_ASSIGN(auto const bytes, run.arena.execute([&] {
      return materialize::carried_bytes(request.of(moved.side), moved.column, control);
    }));
    // The sample saw no value that is too long: the column is gathered.
    if (bytes > 0) (is_left ? planned.left_carried : planned.right_carried).push_back({moved.column, bytes});
  }
  if (request.build != nullptr) {
    planned.digit.digit = request.build->digit;
  } else {
    GARUDA_TRY_ASSIGN(planned.digit, run.arena.execute([&] {
      return partition::choose_digit(planned.keys.left, planned.keys.right, plan.radix_bits, control);
    }));
  }
  plan.radix_bits = planned.digit.digit.bits;
  plan.radix_shift = planned.digit.digit.shift;
  plan.mixed_digit = planned.digit.digit.mixed;
  return planned;
}

Result<std::unique_ptr<JoinResult>> hash_join(resolve::JoinRequest request) {
  GARUDA_TRY_ASSIGN(auto copies, bring_down(request));
  if (copies) {
    GARUDA_TRY_ASSIGN(auto joined, hash_join(std::move(request)));
    return device::result_of_copies(std::move(*copies), std::move(joined));
  }
  if (is_ordered_by_ranges(request)) return ordered_join(std::move(request));
  auto run = std::make_unique<run::QueryRun>(request.options);
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, JoinOutput::rows, *run));
  auto const& [offer, plan, rates] = planned.chosen;
  if (!offer.takes_whole()) return gathered_join(request, std::move(planned), std::move(run));
  auto joined = plan::find_path(plan.path)->join.join_whole(request, offer, plan);
  bool const goes_on = !joined && device::take_slices(request, request.left, joined.error());
  return goes_on ? hash_join(std::move(request)) : std::move(joined);
}

Result<Engine::Counted> hash_join_count(resolve::JoinRequest request) {
  GARUDA_TRY_ASSIGN(auto const copies, bring_down(request));
  request.options.tuning = counting_tuning(request.options.tuning, request.spec.where.has_value());
  auto run = std::make_unique<run::QueryRun>(request.options);
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, JoinOutput::count, *run));
  if (auto const& [offer, plan, rates] = planned.chosen; offer.takes_whole()) {
    auto counted = plan::find_path(plan.path)->join.count_whole(request, offer, plan);
    bool const goes_on = !counted && device::take_slices(request, request.left, counted.error());
    return goes_on ? hash_join_count(std::move(request)) : std::move(counted);
  }
  GARUDA_TRY_ASSIGN(auto const join, PartitionedJoin::prepare(request, std::move(planned), std::move(run)));
  GARUDA_TRY_ASSIGN(auto const rows, join->count());
  auto const stats = join->stats(rows);
  return Engine::Counted{rows, join->plan(), copies ? copies->with_copies(stats) : stats};
}

Result<Plan> explain_hash_join(resolve::JoinRequest request, bool counts) {
  GARUDA_TRY_ASSIGN(auto const copies, bring_down(request));
  if (counts) request.options.tuning = counting_tuning(request.options.tuning, request.spec.where.has_value());
  run::QueryRun run(request.options);
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, counts ? JoinOutput::count : JoinOutput::rows, run));
  return std::move(planned.chosen.plan);
}

}  // namespace garuda::join
