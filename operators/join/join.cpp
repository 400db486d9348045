#include "operators/join/join.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "garuda/condition.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/host_copies.hpp"
#include "operators/device/join/composed_keys.hpp"
#include "operators/device/join/device_condition.hpp"
#include "operators/join/gathered_join.hpp"
#include "operators/join/hash_join.hpp"
#include "operators/plan/paths.hpp"

namespace garuda::join {
namespace {

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

/// Whether tables that turned out not to fit the device whole are joined in slices: the request is, then.
bool take_slices(resolve::JoinRequest& request, Error const& error) {
  auto& placement = request.options.tuning.placement;
  if (request.left.resident() != nullptr || placement == Placement::device || !contract::is_shortage(error))
    return false;
  placement = Placement::slices;
  request.notes.push_back(fmt::format("placement=slices: {}", error.message()));
  return true;
}

}  // namespace

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
  return !joined && take_slices(request, joined.error()) ? hash_join(std::move(request)) : std::move(joined);
}

Result<Engine::Counted> hash_join_count(resolve::JoinRequest request) {
  GARUDA_TRY_ASSIGN(auto const copies, bring_down(request));
  request.options.tuning = counting_tuning(request.options.tuning, request.spec.where.has_value());
  auto run = std::make_unique<run::QueryRun>(request.options);
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, JoinOutput::count, *run));
  if (auto const& [offer, plan, rates] = planned.chosen; offer.takes_whole()) {
    auto counted = plan::find_path(plan.path)->join.count_whole(request, offer, plan);
    return !counted && take_slices(request, counted.error()) ? hash_join_count(std::move(request)) : std::move(counted);
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
