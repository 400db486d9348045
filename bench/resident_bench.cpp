#include "bench/resident_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "bench/compute_path.hpp"
#include "bench/cuda_path.hpp"
#include "garuda/control.hpp"

namespace garuda::bench {
namespace {

/// A path with its tables and its query, and what was measured of it.
struct Contender {
  ResidentPath* path = nullptr;
  std::vector<UploadedTable> tables;
  std::unique_ptr<ResidentQuery> query;
  std::unique_ptr<ResidentRun> copy;
  std::uint64_t rows_out = 0;
  std::uint64_t bytes = 0;
  std::vector<PhaseSample> runs;
  std::vector<PhaseSample> copies;
};

/// What differs between joins and group-bys.
struct Contest {
  std::vector<Table const*> tables;
  std::function<Result<std::unique_ptr<ResidentQuery>>(ResidentPath&, std::vector<UploadedTable> const&)> begin;
  std::function<Result<void>(Table const&)> check;
  std::function<std::uint64_t(Table const& result)> bytes;
  Record record;  ///< of all paths
};

Result<std::vector<UploadedTable>> upload_all(ResidentPath& path, Contest const& contest, Sharing sharing) {
  std::vector<UploadedTable> tables;
  for (auto const* const table : contest.tables) {
    GARUDA_TRY_ASSIGN(auto uploaded, path.upload(*table, sharing));
    tables.push_back(std::move(uploaded));
  }
  return tables;
}

Result<std::vector<UploadedTable>> open_all(ResidentPath& path, std::vector<UploadedTable> const& shared) {
  std::vector<UploadedTable> tables;
  for (auto const& table : shared) {
    GARUDA_TRY_ASSIGN(auto opened, path.open_shared(table));
    tables.push_back(std::move(opened));
  }
  return tables;
}

Result<std::unique_ptr<Contender>> prepare(ResidentPath& path, Contest const& contest,
                                           Result<std::vector<UploadedTable>> tables) {
  if (!tables) return tl::unexpected(std::move(tables).error());
  auto contender = std::make_unique<Contender>();
  contender->path = &path;
  contender->tables = std::move(*tables);
  GARUDA_TRY_ASSIGN(contender->query, contest.begin(path, contender->tables));
  GARUDA_TRY_ASSIGN(contender->rows_out, contender->query->prepare());
  GARUDA_TRY_ASSIGN(auto const result, contender->query->download());
  if (auto checked = contest.check(result); !checked)
    return tl::unexpected(std::move(checked).error().wrap(
        fmt::format("wrong result of path {} on {}", to_string(path.path()), path.device())));
  contender->bytes = contest.bytes(result);
  GARUDA_TRY_ASSIGN(contender->copy, path.begin_copy(contender->bytes));
  return contender;
}

Result<void> sample(Contender& contender, Control const& control) {
  if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between runs");
  GARUDA_TRY_ASSIGN(auto copied, contender.copy->run());
  GARUDA_TRY_ASSIGN(auto timed, contender.query->run());
  contender.copies.push_back(std::move(copied));
  contender.runs.push_back(std::move(timed));
  return {};
}

ResidentSeries series_of(Contender const& contender, Record const& common) {
  ResidentSeries series;
  auto& record = series.record;
  record = common;
  record.path = to_string(contender.path->path());
  record.device = contender.path->device();
  record.driver = contender.path->driver();
  record.mode = "resident";
  record.rows_out = contender.rows_out;
  record.samples_ns = times_of(contender.runs);
  record.time = summarise(record.samples_ns);
  record.host_time = summarise(host_times_of(contender.runs));
  record.bytes = contender.bytes;
  record.phases = median_sample(contender.runs).phases;
  record.verified = true;
  series.choices = fmt::format("{}; time: {}", contender.query->describe(), contender.path->clock());
  series.bandwidth = {"copying as many bytes,",
                      per_second(contender.bytes, summarise(times_of(contender.copies)).median_ns)};
  return series;
}

std::vector<Result<ResidentSeries>> compare(std::span<ResidentPath* const> paths, Contest const& contest,
                                            ResidentSampling const& sampling) {
  std::vector<Result<std::unique_ptr<Contender>>> contenders;
  for (auto* const path : paths) {
    if (!sampling.share_tables || contenders.empty()) {
      auto const sharing = sampling.share_tables ? Sharing::shared : Sharing::own;
      contenders.push_back(prepare(*path, contest, upload_all(*path, contest, sharing)));
    } else if (contenders.front()) {
      contenders.push_back(prepare(*path, contest, open_all(*path, (*contenders.front())->tables)));
    } else {
      contenders.emplace_back(fail(ErrorCode::no_device, "the tables that it was to share are not there"));
    }
  }
  auto const with_all = [&](auto const& step) {
    for (auto& contender : contenders) {
      if (!contender) continue;
      if (auto done = step(**contender); !done) contender = tl::unexpected(std::move(done).error());
    }
  };
  Control control;
  control.cancelled = sampling.cancelled;
  with_all([&](Contender& contender) -> Result<void> {
    if (contender.path->is_software()) return {};
    return warm_up([&] { return contender.query->run(); }, control);
  });
  for (std::uint32_t i = 0; i < sampling.repeat; ++i)
    with_all([&](Contender& contender) { return sample(contender, control); });
  std::vector<Result<ResidentSeries>> all;
  for (auto const& contender : contenders) {
    if (contender) {
      all.emplace_back(series_of(**contender, contest.record));
    } else {
      all.emplace_back(tl::unexpected(contender.error()));
    }
  }
  // Those who opened tables go before who uploaded them.
  while (!contenders.empty()) contenders.pop_back();
  return all;
}

/// Groups that rows drawn evenly are expected to have, as a sample would estimate them.
std::uint64_t expected_groups(GroupWorkload const& workload) {
  auto const groups = static_cast<double>(workload.groups);
  auto const seen = groups * (1 - std::exp(-static_cast<double>(workload.rows) / groups));
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(seen), 1);
}

template <class Tuning>
Result<std::vector<std::unique_ptr<ResidentPath>>> open_paths(Comparison<Tuning> const& comparison,
                                                              ResidentOptions const& resident) {
  GARUDA_TRY(check(comparison));
  if (comparison.floor) return fail(ErrorCode::usage, "--floor draws what --path graphics draws");
  std::vector<std::unique_ptr<ResidentPath>> opened;
  for (auto& path :
       open_resident_paths(choices_of(comparison.paths, resident.tuning, resident.choices), comparison.device)) {
    if (!path) return tl::unexpected(std::move(path).error());
    opened.push_back(std::move(*path));
  }
  return opened;
}

std::vector<ResidentPath*> pointers_to(std::vector<std::unique_ptr<ResidentPath>> const& paths) {
  std::vector<ResidentPath*> pointers;
  for (auto const& path : paths) pointers.push_back(path.get());
  return pointers;
}

}  // namespace

std::vector<Result<std::unique_ptr<ResidentPath>>> open_resident_paths(std::span<ResidentChoice const> choices,
                                                                       std::optional<std::string> const& device) {
  std::vector<std::optional<Result<std::unique_ptr<ResidentPath>>>> opened(choices.size());
  // Compute first: CUDA then opens the same GPU.
  std::optional<DeviceUuid> uuid;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].path != Path::compute) continue;
    opened[i] = open_compute_path(device.value_or("auto"), choices[i].tuning);
    if (*opened[i] && !uuid) uuid = (**opened[i])->uuid();
  }
  std::vector<Result<std::unique_ptr<ResidentPath>>> all;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].path == Path::cuda) opened[i] = open_cuda_path(device, uuid, choices[i].tuning);
    if (!opened[i])
      opened[i] = fail(ErrorCode::usage,
                       fmt::format("--mode resident has the paths compute and cuda: {}", to_string(choices[i].path)));
    all.push_back(std::move(*opened[i]));
  }
  return all;
}

std::vector<Result<ResidentSeries>> compare_resident_joins(std::span<ResidentPath* const> paths,
                                                           JoinTables const& tables, JoinWorkload const& workload,
                                                           ReferenceJoin const& reference,
                                                           ResidentSampling const& sampling) {
  Contest contest;
  contest.tables = {&tables.left, &tables.right};
  contest.begin = [&](ResidentPath& path, auto const& uploaded) {
    return path.begin_join(uploaded[0], uploaded[1], max_result_rows(workload));
  };
  contest.check = [&](Table const& result) { return reference.check(result.schema(), result.batches()); };
  contest.bytes = [&](Table const& result) {
    return joined_bytes(tables, static_cast<std::uint64_t>(result.num_rows()));
  };
  contest.record.op = "join";
  contest.record.rows_left = static_cast<std::uint64_t>(tables.left.num_rows());
  contest.record.rows_right = static_cast<std::uint64_t>(tables.right.num_rows());
  return compare(paths, contest, sampling);
}

std::vector<Result<ResidentSeries>> compare_resident_group_bys(std::span<ResidentPath* const> paths, Table const& table,
                                                               GroupWorkload const& workload,
                                                               std::vector<AggregateFunction> const& functions,
                                                               ReferenceGroups const& reference,
                                                               ResidentSampling const& sampling) {
  std::vector<Aggregate> wanted;
  for (auto const function : functions) wanted.push_back({function, "v", std::nullopt});
  Contest contest;
  contest.tables = {&table};
  contest.begin = [&](ResidentPath& path, auto const& uploaded) {
    return path.begin_group_by(uploaded[0], functions, expected_groups(workload));
  };
  contest.check = [&](Table const& result) { return reference.check(wanted, result.batches()); };
  contest.bytes = [&](Table const& result) {
    return workload.rows * row_bytes(table.schema()) +
           static_cast<std::uint64_t>(result.num_rows()) * row_bytes(result.schema());
  };
  contest.record.op = "group-by";
  contest.record.rows = workload.rows;
  contest.record.groups = workload.groups;
  return compare(paths, contest, sampling);
}

Result<std::vector<JoinOutcome>> run_resident_join_bench(JoinBenchRequest const& request,
                                                         ResidentOptions const& resident) {
  GARUDA_TRY(check_join_workload(request.workload));
  GARUDA_TRY_ASSIGN(auto const paths, open_paths(request, resident));
  GARUDA_TRY_ASSIGN(auto const tables, generate_join_tables(request.workload));
  ReferenceJoin const reference(tables.left.view(), tables.right.view());
  std::vector<JoinOutcome> outcomes;
  for (auto& series : compare_resident_joins(pointers_to(paths), tables, request.workload, reference,
                                             {resident.share_tables, request.repeat, request.cancelled})) {
    if (!series) return tl::unexpected(std::move(series).error());
    outcomes.push_back({std::move(series->record), std::move(series->choices), reference.compares_rows(),
                        std::move(series->bandwidth), std::nullopt, std::nullopt});
  }
  return outcomes;
}

Result<std::vector<GroupByOutcome>> run_resident_group_by_bench(GroupByBenchRequest const& request,
                                                                ResidentOptions const& resident) {
  auto const& workload = request.workload;
  if (workload.rows == 0) return fail(ErrorCode::usage, "--rows must be at least 1 in --mode resident: 0");
  GARUDA_TRY_ASSIGN(auto const paths, open_paths(request, resident));
  GARUDA_TRY_ASSIGN(auto const table, generate_group_table(workload));
  ReferenceGroups const reference(table, workload);
  std::vector<GroupByOutcome> outcomes;
  for (auto& series : compare_resident_group_bys(pointers_to(paths), table, workload, request.functions, reference,
                                                 {resident.share_tables, request.repeat, request.cancelled})) {
    if (!series) return tl::unexpected(std::move(series).error());
    GroupByOutcome outcome;
    outcome.record = std::move(series->record);
    outcome.choices = std::move(series->choices);
    outcome.bandwidth = std::move(series->bandwidth);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace garuda::bench
