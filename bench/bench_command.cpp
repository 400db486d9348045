#include "bench/bench_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <system_error>

#include "bench/command.hpp"
#include "bench/operator_bench.hpp"
#include "bench/workloads/words.hpp"

namespace garuda::bench {
namespace {

constexpr std::array kMemories{Word<TableMemory>{"ordinary", TableMemory::ordinary},
                               Word<TableMemory>{"pinned", TableMemory::pinned}};

struct OperatorArguments : OperatorRequest {
  std::string export_folder;
  WriteTable write_table;
};

Result<TableMemory> parse_memory(std::string_view text) { return parse_word("memory", kMemories, text); }

Result<std::vector<AggregateFunction>> parse_functions(std::string_view text) {
  GARUDA_TRY_ASSIGN(auto const aggregates, parse_aggregates(text));
  std::vector<AggregateFunction> functions;
  for (auto const& aggregate : aggregates) {
    if (aggregate.column || aggregate.name)
      return fail(ErrorCode::usage, "--agg of a benchmark takes functions only, the column is generated");
    if (aggregate.function > AggregateFunction::var)
      return fail(ErrorCode::usage, fmt::format("--agg of a benchmark is of count, sum, min, max, mean, var: '{}'",
                                                to_string(aggregate.function)));
    functions.push_back(aggregate.function);
  }
  return functions;
}

/// Writes the tables of a benchmark to its --export.
Result<void> export_tables(OperatorArguments const& arguments, std::vector<Table> const& tables) {
  std::filesystem::path const folder(arguments.export_folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(ErrorCode::output, fmt::format("cannot create folder {}: {}", folder.string(), error.message()));
  auto const names = tables.size() == 1 ? std::vector{"table.arrow"} : std::vector{"left.arrow", "right.arrow"};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    GARUDA_TRY(arguments.write_table(folder / names[i], tables[i]));
    fmt::print("{}\n", (folder / names[i]).string());
  }
  return {};
}

Result<void> run_operator(OperatorArguments arguments, bool json) {
  if (!arguments.export_folder.empty()) {
    set_seed(arguments.workload, arguments.seed);
    GARUDA_TRY_ASSIGN(auto const tables, generate_tables(arguments.workload));
    return export_tables(arguments, tables);
  }
  return print_all(run_operator_bench(arguments), json);
}

void add_operator_options(Bench const& bench, Command<OperatorArguments>& command, char const* tuning,
                          char const* floor) {
  auto& request = command.request;
  request.write_table = bench.write_table;
  command.parsed("--path", request.paths, "auto", list_of(parse_path),
                 "Paths, by comma: auto, graphics, compute, cuda, cpu");
  command.device(request.device);
  command.option("--tuning", request.tuning, tuning);
  command.parsed("--choices", request.choices, "", parse_choices,
                 "In place of --path and --tuning: PATH[:TUNING][;PATH[:TUNING]…]");
  command.option("--threads", request.threads, "CPU threads, 0: all");
  command.parsed("--memory", request.memory, "ordinary", parse_memory,
                 "Of the tables: ordinary, or pinned for the device");
  command.parsed("--mode", request.mode, "end-to-end", parse_mode, "end-to-end, or resident (paths compute, cuda)");
  command.flag("--share-tables", request.share_tables, "Of mode resident: all paths work on the same memory");
  command.flag("--floor", request.floor, floor);
  command.sampling("Timed runs a path", "Of the generated tables");
  command.option("--export", request.export_folder, "Only write the tables, as Arrow IPC files, to this folder");
  command.json("One JSON object a path, a line each");
}

/// The options of a workload.
template <class Request>
void add_join_workload(Command<Request>& command, JoinWorkload& workload) {
  command
      .parsed("--rows-left", workload.rows_left, "", parse_row_count, "Rows of the primary-key side: 2^27, 16M, 6e6")
      ->required();
  command.parsed("--rows-right", workload.rows_right, "", parse_row_count, "Rows of the side that draws from its keys")
      ->required();
  command.option("--payload-left", workload.payload_left, "Columns beside the key");
  command.option("--payload-right", workload.payload_right, "Columns beside the key");
  command.parsed("--key-type", workload.key_type, "i32", parse_key_type, "i32 or i64");
  command.parsed("--payload-type", workload.payload_type, "", parse_key_type, "i32 or i64 (default: as the key)");
  command.parsed("--distribution", workload.distribution, "dense", parse_key_distribution, "dense, uniform or zipf:Z");
  command.option("--match-ratio", workload.match_ratio, "Share of right rows with a left key, 0 to 1");
  command.parsed("--multiplicity", workload.multiplicity, "1", parse_row_count, "Left rows a key");
}

}  // namespace

void add_join(Bench const& bench) {
  auto const command =
      Command<OperatorArguments>::add(bench, "join", "Joins of synthetic tables, host memory to host memory");
  add_join_workload(*command, command->request.workload.emplace<JoinWorkload>());
  add_operator_options(bench, *command,
                       "As for garuda join: address=direct,…; of mode resident: method=global,payload=gather,…",
                       "Also measure what the points of the graphics path cost bare");
  command->runs(bench, run_operator);
}

void add_kinds(Bench const& bench) {
  struct Kinds : OperatorRequest {
    std::vector<JoinKind> kinds{JoinKind::left, JoinKind::right, JoinKind::full,
                                JoinKind::semi, JoinKind::anti,  JoinKind::mark};
    std::vector<JoinKind> counted{JoinKind::inner, JoinKind::full, JoinKind::semi};
  };
  auto const command = Command<Kinds>::add(bench, "kinds", "Kinds of joins of synthetic tables on a device");
  auto& request = command->request;
  request.memory = TableMemory::device;
  add_join_workload(*command, request.workload.emplace<JoinWorkload>());
  command->parsed("--kinds", request.kinds, "", list_of(parse_join_kind), "Beside inner (default: all)");
  command->parsed("--counted", request.counted, "", list_of(parse_join_kind), "Also counted: inner,full,semi");
  command->option("--tuning", request.tuning, "As for garuda join: method=global,…");
  command->device(request.device);
  command->sampling("Timed runs of each, in turn", "Of the generated tables");
  command->json("A JSON object a line");
  command->prints(bench, [](Kinds asked) {
    for (auto const kind : asked.kinds)
      if (kind != JoinKind::inner) asked.queries.push_back({kind, false});
    for (auto const kind : asked.counted) asked.queries.push_back({kind, true});
    return run_operator_bench(asked);
  });
}

void add_non_equi(Bench const& bench) {
  struct NonEqui : OperatorRequest {
    bool rows = false;
  };
  auto const command = Command<NonEqui>::add(bench, "non-equi", "Non-equi joins of synthetic tables");
  auto& request = command->request;
  request.warms_up = true;
  auto& workload = request.workload.emplace<NonEquiWorkload>();
  command->parsed("--rows-left", workload.rows_left, "", parse_row_count, "Rows: 2^20, 16M, 6e6")->required();
  command->parsed("--rows-right", workload.rows_right, "", parse_row_count, "Rows")->required();
  command->parsed("--condition", workload.condition, "band", parse_condition,
                  "band: two comparisons, about a match a row; less: one comparison, half of all pairs");
  command->flag("--rows", request.rows, "Make the rows; else they are counted");
  command->parsed("--path", request.paths, "auto", list_of(parse_path), "Paths, by comma: auto, cpu, compute");
  command->option("--tuning", request.tuning, "As for garuda join: method=nested_loops,…");
  command->device(request.device);
  command->option("--threads", request.threads, "Of the host; 0: all");
  command->sampling("Timed runs", "Of the generated tables");
  command->json("One JSON object a path, a line each");
  command->prints(bench, [](NonEqui asked) {
    asked.queries.front().counts = !asked.rows;
    return run_operator_bench(asked);
  });
}

void add_group_by(Bench const& bench) {
  auto const command = Command<OperatorArguments>::add(bench, "group-by", "Group-bys of synthetic tables");
  auto& [workload, functions] = command->request.workload.emplace<GroupByCase>();
  command->parsed("--rows", workload.rows, "", parse_row_count, "Rows: 2^27, 16M, 6e6")->required();
  command->parsed("--groups", workload.groups, "", parse_row_count, "Groups that rows draw from")->required();
  command->option("--keys", workload.keys, "Key columns");
  command->parsed("--agg", functions, "sum", parse_functions,
                  "Aggregates of one value column: count,sum,min,max,mean,var");
  command->parsed("--value-type", workload.value_type, "i64", parse_value_type, "i32, i64 or f64");
  command->parsed("--distribution", workload.distribution, "uniform", parse_key_distribution, "uniform or zipf:Z");
  add_operator_options(bench, *command, "As for garuda group-by: keys=words,…; of mode resident: method=hash,…",
                       "Also measure what one bare additive point a row costs");
  command->runs(bench, run_operator);
}

Result<void> flushed(Result<void> result) {
  auto const is_written = std::fflush(stdout) == 0;
  if (!result || is_written) return result;
  return fail(ErrorCode::output, "standard output cannot be written");
}

Result<void> print_all(Result<std::vector<Outcome>> const& outcomes, bool json) {
  if (!outcomes) return tl::unexpected(outcomes.error());
  for (auto const& outcome : *outcomes) print(outcome, json);
  return {};
}

void print(Outcome const& outcome, bool json) {
  if (json) {
    fmt::print("{}\n", to_json_line(outcome.record));
    for (auto const& record : outcome.beside) fmt::print("{}\n", to_json_line(record));
    return;
  }
  fmt::print("{}", to_text(outcome.record, outcome.bandwidth));
  for (auto const& note : outcome.notes) fmt::print("  {}\n", note);
  for (auto const& record : outcome.beside) fmt::print("{}", to_text(record));
  for (auto const& [what, ratio] : outcome.ratios)
    fmt::print("  {}: median {:.3g} ({:.3g} … {:.3g}, {} samples)\n", what, ratio.median, ratio.min, ratio.max,
               outcome.record.time.samples);
}

void print_row(std::vector<std::string> const& cells) { fmt::print("| {} |\n", fmt::join(cells, " | ")); }

void print_header(std::vector<std::string> const& titles) {
  print_row(titles);
  fmt::print("|{}\n", fmt::join(std::vector<std::string>(titles.size(), "---|"), ""));
}

std::string ms_cell(Summary const& time) {
  return fmt::format("{:.3f} ± {:.3f}", static_cast<double>(time.median_ns) / 1e6,
                     static_cast<double>(time.mad_ns) / 1e6);
}

void add_bench_command(CLI::App& app, Select const& select, WriteTable const& write_table,
                       std::atomic<bool> const* cancelled) {
  auto* const command = app.add_subcommand("bench", "Benchmarks: verify, then time");
  command->require_subcommand(1);
  Bench const bench{*command, select, write_table, cancelled};
  add_join(bench);
  add_non_equi(bench);
  add_kinds(bench);
  add_partition(bench);
  add_group_by(bench);
  add_primitives(bench);
  add_gpu(bench);
  add_histogram(bench);
}

}  // namespace garuda::bench
