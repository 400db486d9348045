#include "bench/workloads/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "operators/run/query_run.hpp"

namespace garuda::bench {
namespace {

// Inputs, the sorted left side and its index, the result. Checked first because an operating system that runs out ends
// the process instead of saying so.
Result<void> check_memory(JoinWorkload const& workload, TableMemory memory) {
  auto const is_narrow =
      workload.key_type == KeyType::i32 && workload.payload_type.value_or(KeyType::i32) == KeyType::i32;
  auto const value_bytes = is_narrow ? 4.0 : 8.0;
  auto const left_columns = 1.0 + workload.payload_left;
  auto const right_columns = 1.0 + workload.payload_right;
  auto const rows_out = max_result_rows(workload);
  auto const result_row_bytes = (left_columns + right_columns - 1) * value_bytes;
  auto const table_bytes = (static_cast<double>(workload.rows_left) * left_columns +
                            static_cast<double>(workload.rows_right) * right_columns) *
                           value_bytes;
  // Tables to be pinned are copied.
  auto const needed = table_bytes * (memory == TableMemory::pinned ? 2 : 1) +
                      static_cast<double>(workload.rows_left) * 32 + static_cast<double>(rows_out) * result_row_bytes;
  auto const free = static_cast<double>(run::free_host_bytes());
  if (free == 0 || needed <= free) return {};
  return fail(ErrorCode::out_of_memory,
              fmt::format("the tables and {} result rows take {:.1f} GiB, more than is free: {:.1f} GiB", rows_out,
                          needed / 0x1p30, free / 0x1p30));
}

/// Groups that rows drawn evenly are expected to have.
std::uint64_t expected_groups(GroupWorkload const& workload) {
  auto const groups = static_cast<double>(workload.groups);
  auto const seen = groups * (1 - std::exp(-static_cast<double>(workload.rows) / groups));
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(seen), 1);
}

}  // namespace

void set_seed(WorkloadSpec& spec, std::uint64_t seed) {
  if (auto* const group_by = std::get_if<GroupByCase>(&spec)) group_by->workload.seed = seed;
  if (auto* const join = std::get_if<JoinWorkload>(&spec)) join->seed = seed;
  if (auto* const join = std::get_if<NonEquiWorkload>(&spec)) join->seed = seed;
}

RunOptions& run_options(OperatorOptions& options) {
  return std::visit([](auto& own) -> RunOptions& { return own; }, options);
}

Result<std::vector<Table>> generate_tables(WorkloadSpec const& spec) {
  std::vector<Table> tables;
  if (auto const* const group_by = std::get_if<GroupByCase>(&spec)) {
    GARUDA_TRY_ASSIGN(auto generated, generate_group_table(group_by->workload));
    tables.push_back(std::move(generated));
    return tables;
  }
  auto const* const join = std::get_if<JoinWorkload>(&spec);
  GARUDA_TRY_ASSIGN(auto generated, join != nullptr ? generate_join_tables(*join)
                                                    : generate_non_equi_tables(std::get<NonEquiWorkload>(spec)));
  tables.push_back(std::move(generated.left));
  tables.push_back(std::move(generated.right));
  return tables;
}

Result<std::unique_ptr<Workload>> Workload::create(WorkloadSpec spec, std::uint64_t seed, TableMemory memory) {
  set_seed(spec, seed);
  std::unique_ptr<Workload> made(new Workload(std::move(spec)));
  auto const* const join = made->join();
  if (join != nullptr) {
    GARUDA_TRY(bench::check(*join));
    GARUDA_TRY(check_memory(*join, memory));
  }
  GARUDA_TRY_ASSIGN(made->tables_, generate_tables(made->spec_));
  auto const& tables = made->tables_;
  if (auto const* const group_by = made->group_by()) {
    made->grouped_.emplace(tables[0], group_by->workload);
  } else {
    auto const* const non_equi = made->non_equi();
    made->joined_.emplace(tables[0].view(), tables[1].view(),
                          non_equi != nullptr ? non_equi->condition : Matching::equal);
  }
  made->rows_out();  // computes what is known then
  return made;
}

std::uint64_t Workload::expected_rows(Query const& query) const {
  if (group_by() != nullptr) return expected_groups(group_by()->workload);
  auto const is_bounded = join() != nullptr && query.kind == JoinKind::inner;
  return std::max<std::uint64_t>(is_bounded ? max_result_rows(*join()) : rows_out(query), 1);
}

Record Workload::record(Query const& query) const {
  Record record;
  record.rows_out = rows_out(query);
  if (auto const* const groups = group_by()) {
    record.op = "group-by";
    record.rows = groups->workload.rows;
    record.groups = groups->workload.groups;
    return record;
  }
  record.op = "join";
  if (query.kind != JoinKind::inner || query.counts) record.op = fmt::format("{} join", to_string(query.kind));
  if (auto const* const spec = non_equi()) {
    record.op = "non-equi join";
    record.choices = to_string(spec->condition);
  }
  if (query.counts) record.op += " count";
  record.rows_left = tables_[0].num_rows();
  record.rows_right = tables_[1].num_rows();
  return record;
}

std::uint64_t Workload::bytes(Schema const& result, Query const& query) const {
  auto bytes = rows_out(query) * row_bytes(result);
  for (auto const& table : tables_) bytes += static_cast<std::uint64_t>(table.num_rows()) * row_bytes(table.schema());
  return bytes;
}

Result<void> Workload::check(Schema const& schema, std::span<Batch const> batches, Query const& query) const {
  return joined_ ? joined_->check(schema, batches, query.kind) : grouped_->check(aggregates(), batches);
}

Result<void> Workload::check_count(std::uint64_t rows, Query const& query) const {
  if (rows == rows_out(query)) return {};
  return fail(ErrorCode::device_failure,
              fmt::format("the number of rows differs from the reference, {}: {}", rows_out(query), rows));
}

Result<OperatorOptions> Workload::parse_options(std::string_view tuning) const {
  if (group_by() == nullptr) {
    JoinOptions options;
    GARUDA_TRY_ASSIGN(options.tuning, parse_join_tuning(tuning));
    return options;
  }
  GroupByOptions options;
  GARUDA_TRY_ASSIGN(options.tuning, parse_group_by_tuning(tuning));
  return options;
}

Result<std::unique_ptr<QueryResult>> Workload::start(Engine& engine, std::vector<TableView> const& tables,
                                                     OperatorOptions const& options, Query const& query) const {
  if (auto const* const join = std::get_if<JoinOptions>(&options))
    return engine.join(tables[0], tables[1], join_spec(query), *join);
  return engine.group_by(tables[0], group_by_spec(), std::get<GroupByOptions>(options));
}

Result<Engine::Counted> Workload::count(Engine& engine, std::vector<TableView> const& tables,
                                        OperatorOptions const& options, Query const& query) const {
  return engine.join_count(tables[0], tables[1], join_spec(query), std::get<JoinOptions>(options));
}

Result<Plan> Workload::explain(Engine& engine, OperatorOptions const& options) const {
  auto const views = views_of(tables_);
  if (auto const* const join = std::get_if<JoinOptions>(&options))
    return engine.explain_join(views[0], views[1], join_spec({}), *join);
  return engine.explain_group_by(views[0], group_by_spec(), std::get<GroupByOptions>(options));
}

JoinSpec Workload::join_spec(Query const& query) const {
  JoinSpec spec;
  spec.kind = query.kind;
  if (non_equi() == nullptr) {
    spec.on = {{"key", "key"}};
    return spec;
  }
  auto const a = left_column("a");
  auto const lo = right_column("lo");
  spec.where = non_equi()->condition == Matching::less ? compare(a, Comparator::less, lo)
                                                       : compare(a, Comparator::greater_equal, lo) &&
                                                             compare(a, Comparator::less_equal, right_column("hi"));
  return spec;
}

GroupBySpec Workload::group_by_spec() const {
  GroupBySpec spec;
  for (std::uint32_t k = 0; k < group_by()->workload.keys; ++k) spec.keys.push_back(fmt::format("k{}", k));
  spec.aggregates = aggregates();
  return spec;
}

std::vector<Aggregate> Workload::aggregates() const {
  std::vector<Aggregate> wanted;
  for (auto const function : group_by()->functions) wanted.push_back({function, "v", std::nullopt});
  return wanted;
}

}  // namespace garuda::bench
