#include "operators/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/gathered_join.hpp"
#include "operators/hash_join.hpp"
#include "operators/host_memory.hpp"
#include "operators/ordered_join.hpp"
#include "operators/streamed_join.hpp"

namespace garuda::operators {
namespace {

/// What placement=device cannot give.
Result<void> check_placement(JoinRequest const& request, bool gives_batches) {
  if (request.options.tuning.placement != Placement::device) return {};
  if (request.options.path != Path::compute) return fail(ErrorCode::usage, "placement=device is of path compute");
  if (request.spec.ordered) return fail(ErrorCode::usage, "placement=device gives rows in any order: ordered");
  if (!gives_batches) return fail(ErrorCode::usage, "placement=device gives rows; joins that only count take slices");
  return {};
}

/// What is left of a tuning for a join that only counts: it writes no pairs and makes no rows, so how these are made
/// decides nothing, the storage that a probe needs included.
JoinTuning counting_tuning(JoinTuning tuning) {
  tuning.probe = Probe::automatic;
  tuning.result = 0;
  tuning.payload = Payload::automatic;
  tuning.chunk_rows = 0;
  return tuning;
}

/// What the other ways take of keys that suit them best, dense and different: known before any key is read.
Result<double> best_case_ns(JoinRequest const& request) {
  JoinShape shape;
  shape.rows_left = static_cast<std::uint64_t>(request.left.num_rows());
  shape.rows_right = static_cast<std::uint64_t>(request.right.num_rows());
  shape.key_range_left = shape.key_range_right = std::max(shape.rows_left, shape.rows_right);
  shape.expected_matches = static_cast<double>(shape.key_range_left);
  shape.output = output_shape(request, JoinOutput::batches);
  shape.threads =
      static_cast<std::uint32_t>(oneapi::tbb::task_arena(arena_threads(request.options.threads)).max_concurrency());
  shape.free_host_bytes = free_host_bytes();
  GARUDA_TRY_ASSIGN(auto const planned, plan_join(shape, machine_of(*request.devices, shape.threads), request.options));
  return planned.plan.estimated.estimated_ns;
}

/// Whether the tables go to the device without a look at their keys: path compute gives pairs otherwise, which takes
/// longer whatever the keys are; path automatic has the CPU path, too.
bool streams_unseen(JoinRequest const& request, StreamedPlan const& plan) {
  if (request.options.path == Path::compute) return true;
  auto const best = best_case_ns(request);
  return best && plan.plan.estimated.estimated_ns < *best;
}

/// Runs the cheaper one of `choice`, if it has a plan, and the join in slices.
Result<std::unique_ptr<JoinResult>> start_cheapest(JoinRequest& request, StreamedJoinChoice choice) {
  if (choice.plan) {
    auto const plan = *choice.plan;
    bool const is_unseen = streams_unseen(request, plan);
    if (!is_unseen) {
      auto const rival = [&](double rows) { return plan.candidate(rows).estimated_ns; };
      GARUDA_TRY_ASSIGN(auto joined, gathered_join(request, rival));
      if (joined) return joined;
    }
    auto joined = streamed_join(request, plan);
    bool const is_asked = request.options.tuning.placement == Placement::device;
    if (joined || is_asked || !is_shortage(joined.error())) return joined;
    choice.refusal = joined.error().message();
  }
  if (choice.plan || request.options.path == Path::compute)
    request.notes.push_back(fmt::format("placement=slices: {}", choice.refusal));
  return gathered_join(request);
}

/// The streamed plan beside the others, the cheapest chosen.
Plan cheapest_of(Plan streamed, PlannedJoin planned, Candidate candidate, bool is_unseen) {
  auto& others = planned.plan.plan;
  bool const streams = is_unseen || candidate.estimated_ns < others.estimated.estimated_ns;
  if (!streams) {
    others.candidates.push_back(std::move(candidate));
    return std::move(others);
  }
  streamed.estimated = candidate;
  streamed.candidates = std::move(others.candidates);
  streamed.candidates.push_back(std::move(candidate));
  return streamed;
}

}  // namespace

Result<std::unique_ptr<JoinResult>> hash_join(JoinRequest request) {
  GARUDA_TRY(check_placement(request, true));
  if (request.spec.ordered) return ordered_join(std::move(request));
  if (!may_stream(request.options)) return gathered_join(request);
  GARUDA_TRY_ASSIGN(auto choice, plan_streamed_join(request));
  return start_cheapest(request, std::move(choice));
}

Result<Engine::Counted> hash_join_count(JoinRequest request) {
  GARUDA_TRY(check_placement(request, false));
  request.options.tuning = counting_tuning(request.options.tuning);
  GARUDA_TRY_ASSIGN(auto const join, PartitionedJoin::prepare(request, JoinOutput::count));
  GARUDA_TRY_ASSIGN(auto const rows, join->count());
  return Engine::Counted{rows, join->plan(), join->stats(rows)};
}

Result<Plan> explain_hash_join(JoinRequest const& request) {
  GARUDA_TRY(check_placement(request, true));
  auto noted = request;
  StreamedJoinChoice choice;
  if (may_stream(request.options) && !request.spec.ordered) {
    GARUDA_TRY_ASSIGN(choice, plan_streamed_join(request));
    if (choice.plan && request.options.path == Path::compute) return std::move(choice.plan->plan);
    if (request.options.path == Path::compute)
      noted.notes.push_back(fmt::format("placement=slices: {}", choice.refusal));
  }
  RunRecorder recorder;
  oneapi::tbb::task_arena arena(arena_threads(request.options.threads));
  GARUDA_TRY_ASSIGN(auto planned, plan_keys(noted, JoinOutput::batches, arena, recorder));
  if (!choice.plan) return std::move(planned.plan.plan);
  auto candidate = choice.plan->candidate(planned.expected_matches);
  bool const is_unseen = streams_unseen(request, *choice.plan);
  return cheapest_of(std::move(choice.plan->plan), std::move(planned), std::move(candidate), is_unseen);
}

}  // namespace garuda::operators
