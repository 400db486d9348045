#include "bench/operator_run.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/stopwatch.hpp"

namespace garuda::bench {

Result<void> checked(Result<void> result, Path path, std::string_view device) {
  if (result) return result;
  return tl::unexpected(
      std::move(result).error().wrap(fmt::format("wrong result of path {} on {}", to_string(path), device)));
}

Result<OperatorRun::Ran> OperatorRun::run(bool reads) {
  Ran ran;
  Stopwatch const watch;
  if (call_.query.counts) {
    GARUDA_TRY_ASSIGN(auto counted, workload_.count(engine_, call_.tables, call_.options, call_.query));
    ran.ns = watch.elapsed_ns();
    ran.rows = counted.rows;
    plan_ = std::move(counted.plan);
    stats_ = std::move(counted.stats);
    return ran;
  }
  GARUDA_TRY_ASSIGN(auto const result, workload_.start(engine_, call_.tables, call_.options, call_.query));
  if (!reads) {
    GARUDA_TRY_ASSIGN(ran.table, result->take_device_table());
  }
  while (reads) {
    GARUDA_TRY_ASSIGN(auto batch, result->next());
    if (!batch) break;
    ran.kept.batches.push_back(std::move(*batch));
  }
  ran.ns = watch.elapsed_ns();
  ran.kept.schema = result->schema();
  plan_ = result->plan();
  stats_ = result->stats();
  return ran;
}

Result<OperatorRun::Rows> OperatorRun::verify(Outcome& outcome) {
  if (call_.on_device) run_options(call_.options).expected_rows = workload_.expected_rows(call_.query);
  GARUDA_TRY_ASSIGN(auto ran, run(true));
  auto result = call_.query.counts ? workload_.check_count(ran.rows, call_.query)
                                   : workload_.check(ran.kept.schema, ran.kept.batches, call_.query);
  GARUDA_TRY(checked(std::move(result), plan_.path, plan_.device));
  auto& record = outcome.record;
  record.path = to_string(plan_.path);
  record.device = plan_.device;
  record.driver = driver_of(plan_, run_options(call_.options).threads);
  record.bytes = workload_.bytes(ran.kept.schema, call_.query);
  return std::move(ran.kept);
}

Result<Sample> OperatorRun::sample() {
  GARUDA_TRY_ASSIGN(auto const ran, run(!call_.on_device));
  return Sample{ran.ns, 0, stats_.phases, stats_.counters};
}

}  // namespace garuda::bench
