#include "bench/bench_command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/export_tables.hpp"
#include "bench/gpu_command.hpp"
#include "bench/group_by_bench.hpp"
#include "bench/histogram_command.hpp"
#include "bench/join_bench.hpp"
#include "bench/partition_bench.hpp"
#include "bench/points_bench.hpp"
#include "bench/primitives_command.hpp"
#include "bench/resident_bench.hpp"
#include "bench/row_count.hpp"

namespace garuda::bench {
namespace {

// Options as they were typed: of joins and group-bys alike, then of each.
struct OperatorArguments {
  std::string paths = "auto";
  std::string device;
  std::string tuning;
  std::string choices;
  std::string mode = "end-to-end";
  std::string export_folder;
  std::uint32_t threads = 0;
  std::uint32_t repeat = 7;
  std::uint64_t seed = 1;
  bool share_tables = false;
  bool floor = false;
  bool json = false;
  std::string memory = "ordinary";
};

struct JoinArguments : OperatorArguments {
  std::string rows_left;
  std::string rows_right;
  std::uint32_t payload_left = 1;
  std::uint32_t payload_right = 1;
  std::string key_type = "i32";
  std::string payload_type;
  std::string distribution = "dense";
  double match_ratio = 1;
  std::string multiplicity = "1";
};

struct GroupByArguments : OperatorArguments {
  std::string rows;
  std::string groups;
  std::uint32_t keys = 1;
  std::string aggregates = "sum";
  std::string value_type = "i64";
  std::string distribution = "uniform";
};

struct PointsArguments {
  std::string rows;
  std::uint32_t image = 4096;
  std::string order = "random";
  std::string blend = "none";
  std::string path = "graphics";
  std::string device = "auto";
  std::string mode = "resident";
  std::uint32_t repeat = 7;
  std::uint64_t seed = 1;
  bool json = false;
};

struct PartitionArguments {
  std::string rows;
  std::uint32_t bits = 10;
  std::string key_type = "i32";
  std::uint32_t payload = 0;
  bool mixed = false;
  std::vector<std::string> row_ids{"made", "stored"};
  std::string instructions;
  std::vector<std::uint32_t> threads{1, 0};
  std::uint32_t repeat = 7;
  std::uint64_t seed = 1;
  bool json = false;
};

Result<std::vector<Path>> parse_paths(std::string_view text) {
  std::vector<Path> paths;
  while (true) {
    auto const comma = text.find(',');
    GARUDA_TRY_ASSIGN(auto const path, parse_path(text.substr(0, comma)));
    paths.push_back(path);
    if (comma == std::string_view::npos) return paths;
    text.remove_prefix(comma + 1);
  }
}

template <class Tuning>
Result<void> read_comparison(OperatorArguments const& arguments, Result<Tuning> (*parse_tuning)(std::string_view),
                             std::atomic<bool> const* cancelled, Comparison<Tuning>& comparison) {
  GARUDA_TRY_ASSIGN(comparison.paths, parse_paths(arguments.paths));
  if (!arguments.device.empty()) comparison.device = arguments.device;
  if (arguments.mode != "resident") {
    GARUDA_TRY_ASSIGN(comparison.tuning, parse_tuning(arguments.tuning));
    GARUDA_TRY_ASSIGN(comparison.choices, parse_choices(arguments.choices, parse_tuning));
  }
  comparison.threads = arguments.threads;
  comparison.repeat = arguments.repeat;
  comparison.floor = arguments.floor;
  comparison.cancelled = cancelled;
  return {};
}

Result<ResidentOptions> resident_options(OperatorArguments const& arguments) {
  ResidentOptions resident{arguments.tuning, {}, arguments.share_tables};
  GARUDA_TRY_ASSIGN(resident.choices, parse_choices(arguments.choices, text_as_it_is));
  return resident;
}

Result<void> check_mode(std::string_view mode, std::string_view available, std::string_view other) {
  if (mode == available) return {};
  if (mode == other)
    return fail(ErrorCode::usage,
                fmt::format("this benchmark has no mode {} in this version, only {}", other, available));
  return fail(ErrorCode::usage, fmt::format("unknown mode (allowed: resident, end-to-end): '{}'", mode));
}

Result<TableMemory> parse_memory(OperatorArguments const& arguments) {
  if (arguments.memory != "ordinary" && arguments.memory != "pinned")
    return fail(ErrorCode::usage, fmt::format("unknown memory (allowed: ordinary, pinned): '{}'", arguments.memory));
  auto const memory = arguments.memory == "pinned" ? TableMemory::pinned : TableMemory::ordinary;
  if (memory == TableMemory::pinned && arguments.mode == "resident")
    return fail(ErrorCode::usage, "--memory pinned is of --mode end-to-end: resident tables are on the device");
  return memory;
}

Result<JoinBenchRequest> to_request(JoinArguments const& arguments, std::atomic<bool> const* cancelled) {
  JoinBenchRequest request;
  auto& workload = request.workload;
  GARUDA_TRY_ASSIGN(workload.rows_left, parse_row_count(arguments.rows_left));
  GARUDA_TRY_ASSIGN(workload.rows_right, parse_row_count(arguments.rows_right));
  workload.payload_left = arguments.payload_left;
  workload.payload_right = arguments.payload_right;
  GARUDA_TRY_ASSIGN(workload.key_type, parse_key_type(arguments.key_type));
  if (!arguments.payload_type.empty()) {
    GARUDA_TRY_ASSIGN(workload.payload_type, parse_key_type(arguments.payload_type));
  }
  GARUDA_TRY_ASSIGN(workload.distribution, parse_key_distribution(arguments.distribution));
  workload.match_ratio = arguments.match_ratio;
  GARUDA_TRY_ASSIGN(workload.multiplicity, parse_row_count(arguments.multiplicity));
  workload.seed = arguments.seed;
  GARUDA_TRY_ASSIGN(request.memory, parse_memory(arguments));
  GARUDA_TRY(read_comparison(arguments, parse_join_tuning, cancelled, request));
  return request;
}

Result<GroupByBenchRequest> to_request(GroupByArguments const& arguments, std::atomic<bool> const* cancelled) {
  GroupByBenchRequest request;
  auto& workload = request.workload;
  GARUDA_TRY_ASSIGN(workload.rows, parse_row_count(arguments.rows));
  GARUDA_TRY_ASSIGN(workload.groups, parse_row_count(arguments.groups));
  workload.keys = arguments.keys;
  GARUDA_TRY_ASSIGN(workload.value_type, parse_value_type(arguments.value_type));
  GARUDA_TRY_ASSIGN(workload.distribution, parse_key_distribution(arguments.distribution));
  workload.seed = arguments.seed;
  GARUDA_TRY_ASSIGN(auto const aggregates, parse_aggregates(arguments.aggregates));
  request.functions.clear();
  for (auto const& aggregate : aggregates) {
    if (aggregate.column || aggregate.name)
      return fail(ErrorCode::usage, "--agg of a benchmark takes functions only, the column is generated");
    request.functions.push_back(aggregate.function);
  }
  GARUDA_TRY_ASSIGN(request.memory, parse_memory(arguments));
  GARUDA_TRY(read_comparison(arguments, parse_group_by_tuning, cancelled, request));
  return request;
}

Result<void> export_as(std::string const& folder, std::string const& name, Table const& table) {
  GARUDA_TRY_ASSIGN(auto const path, export_table(folder, name, table));
  fmt::print("{}\n", path.string());
  return {};
}

void print(GroupByOutcome const& outcome, bool json) {
  if (json) {
    fmt::print("{}\n", to_json_line(outcome.record));
    if (outcome.floor) fmt::print("{}\n", to_json_line(*outcome.floor));
    return;
  }
  fmt::print("{}", to_text(outcome.record, outcome.bandwidth));
  fmt::print("  plan: {}\n  counters:", outcome.choices);
  for (auto const& [name, value] : outcome.counters) fmt::print(" {} {}", name, value);
  fmt::print("\n");
  if (!outcome.floor) return;
  fmt::print("{}", to_text(*outcome.floor, std::nullopt));
  auto const& ratio = outcome.total_ratio;
  fmt::print("  group-by / one bare additive draw a row: median {:.2f} ({:.2f} … {:.2f}, {} samples)\n", ratio.median,
             ratio.min, ratio.max, outcome.floor->time.samples);
}

Result<void> run_group_by(GroupByArguments const& arguments, std::atomic<bool> const* cancelled) {
  GARUDA_TRY_ASSIGN(auto const request, to_request(arguments, cancelled));
  if (!arguments.export_folder.empty()) {
    GARUDA_TRY_ASSIGN(auto const table, generate_group_table(request.workload));
    return export_as(arguments.export_folder, "table", table);
  }
  if (arguments.mode == "resident") {
    GARUDA_TRY_ASSIGN(auto const resident, resident_options(arguments));
    GARUDA_TRY_ASSIGN(auto const outcomes, run_resident_group_by_bench(request, resident));
    for (auto const& outcome : outcomes) print(outcome, arguments.json);
    return {};
  }
  GARUDA_TRY(check_mode(arguments.mode, "end-to-end", "resident"));
  GARUDA_TRY_ASSIGN(auto const outcomes, run_group_by_bench(request));
  for (auto const& outcome : outcomes) print(outcome, arguments.json);
  return {};
}

void print(JoinOutcome const& outcome, bool json) {
  if (json) {
    fmt::print("{}\n", to_json_line(outcome.record));
    if (outcome.floor) fmt::print("{}\n", to_json_line(outcome.floor->record));
    return;
  }
  fmt::print("{}", to_text(outcome.record, outcome.bandwidth));
  fmt::print("  plan: {}\n  verified {}\n", outcome.choices,
             outcome.compared_rows ? "row by row" : "by number of rows and 128-bit digest of whole rows");
  if (outcome.bound)
    fmt::print("  bound by copies: {}, {}B/s up and {}B/s down ({}); join / bound {:.2f}\n",
               format_ns(outcome.bound->ns), format_rate(outcome.bound->rates.up_bytes_per_s),
               format_rate(outcome.bound->rates.down_bytes_per_s),
               outcome.bound->rates.pinned ? "pinned memory" : "staged", outcome.bound->ratio);
  if (!outcome.floor) return;
  fmt::print("{}", to_text(outcome.floor->record, std::nullopt));
  auto const& ratio = outcome.floor->total_ratio;
  fmt::print("  join / bare draws: median {:.2f} ({:.2f} … {:.2f}, {} samples)\n", ratio.median, ratio.min, ratio.max,
             outcome.floor->record.time.samples);
}

Result<void> run_join(JoinArguments const& arguments, std::atomic<bool> const* cancelled) {
  GARUDA_TRY_ASSIGN(auto const request, to_request(arguments, cancelled));
  if (!arguments.export_folder.empty()) {
    GARUDA_TRY_ASSIGN(auto const tables, generate_join_tables(request.workload));
    GARUDA_TRY(export_as(arguments.export_folder, "left", tables.left));
    return export_as(arguments.export_folder, "right", tables.right);
  }
  if (arguments.mode == "resident") {
    GARUDA_TRY_ASSIGN(auto const resident, resident_options(arguments));
    GARUDA_TRY_ASSIGN(auto const outcomes, run_resident_join_bench(request, resident));
    for (auto const& outcome : outcomes) print(outcome, arguments.json);
    return {};
  }
  GARUDA_TRY(check_mode(arguments.mode, "end-to-end", "resident"));
  GARUDA_TRY_ASSIGN(auto const outcomes, run_join_bench(request));
  for (auto const& outcome : outcomes) print(outcome, arguments.json);
  return {};
}

Result<void> run_points(PointsArguments const& arguments, std::atomic<bool> const* cancelled) {
  GARUDA_TRY(check_mode(arguments.mode, "resident", "end-to-end"));
  if (arguments.path != "graphics")
    return fail(ErrorCode::usage, fmt::format("bare draws run on path graphics only: '{}'", arguments.path));
  PointsRequest request;
  GARUDA_TRY_ASSIGN(request.rows, parse_row_count(arguments.rows));
  request.image = arguments.image;
  GARUDA_TRY_ASSIGN(request.order, parse_point_order(arguments.order));
  GARUDA_TRY_ASSIGN(request.blend, parse_point_blend(arguments.blend));
  request.device = arguments.device;
  request.repeat = arguments.repeat;
  request.seed = arguments.seed;
  request.cancelled = cancelled;
  GARUDA_TRY_ASSIGN(auto const outcome, run_points_bench(request));
  if (arguments.json) {
    fmt::print("{}\n", to_json_line(outcome.record));
  } else {
    fmt::print("{}  image {} x {}, order {}, blend {}; time: {}\n", to_text(outcome.record, std::nullopt),
               request.image, request.image, to_string(request.order), to_string(request.blend), outcome.clock);
  }
  return {};
}

Result<void> run_partition(PartitionArguments const& arguments, std::atomic<bool> const* cancelled) {
  PartitionRequest request;
  GARUDA_TRY_ASSIGN(request.rows, parse_row_count(arguments.rows));
  request.bits = arguments.bits;
  GARUDA_TRY_ASSIGN(request.key_type, parse_key_type(arguments.key_type));
  request.payload = arguments.payload;
  request.mixed = arguments.mixed;
  request.row_ids.clear();
  for (auto const& name : arguments.row_ids) {
    GARUDA_TRY_ASSIGN(auto const row_ids, parse_row_ids(name));
    request.row_ids.push_back(row_ids);
  }
  request.instructions = arguments.instructions;
  request.threads = arguments.threads;
  request.repeat = arguments.repeat;
  request.seed = arguments.seed;
  request.cancelled = cancelled;
  GARUDA_TRY_ASSIGN(auto const outcomes, run_partition_bench(request));
  for (auto const& outcome : outcomes) {
    if (arguments.json) {
      fmt::print("{}\n", to_json_line(outcome.record));
      continue;
    }
    auto const share = [](CopiesBetween const& copies) {
      return fmt::format("{:.1f} % ({:.1f} … {:.1f}) of {}B/s", 100 * copies.share.median, 100 * copies.share.min,
                         100 * copies.share.max, format_rate(copies.bytes_per_s));
    };
    fmt::print("{}  {}\n  of copies by as many threads between the samples: past the caches {}, by memcpy {}\n",
               to_text(outcome.record, std::nullopt), outcome.record.choices, share(outcome.past_caches),
               share(outcome.by_memcpy));
  }
  return {};
}

void add_operator_options(CLI::App& command, OperatorArguments& arguments) {
  command.add_option("--path", arguments.paths, "Paths, by comma: auto, graphics, compute, cuda, cpu")
      ->capture_default_str();
  command.add_option("--device", arguments.device, "auto, an index or part of a name");
  command.add_option("--choices", arguments.choices, "In place of --path and --tuning: PATH[:TUNING][;PATH[:TUNING]…]");
  command.add_option("--threads", arguments.threads, "CPU threads, 0: all")->capture_default_str();
  command.add_option("--repeat", arguments.repeat, "Timed runs a path")->capture_default_str();
  command.add_option("--seed", arguments.seed, "Of the generated tables")->capture_default_str();
  command.add_option("--export", arguments.export_folder, "Only write the tables, as Arrow IPC files, to this folder");
  command.add_flag("--share-tables", arguments.share_tables, "Of mode resident: all paths work on the same memory");
  command.add_flag("--json", arguments.json, "One JSON object a path, a line each");
}

void add_join(CLI::App& bench, Select const& select, std::atomic<bool> const* cancelled) {
  // Shared: the parser's references and what is selected outlive this function, in any order.
  auto const arguments = std::make_shared<JoinArguments>();
  auto* const command = bench.add_subcommand("join", "Joins of synthetic tables, host memory to host memory");
  command->add_option("--rows-left", arguments->rows_left, "Rows of the primary-key side: 2^27, 16M, 6e6")->required();
  command->add_option("--rows-right", arguments->rows_right, "Rows of the side that draws from its keys")->required();
  command->add_option("--payload-left", arguments->payload_left, "Columns beside the key")->capture_default_str();
  command->add_option("--payload-right", arguments->payload_right, "Columns beside the key")->capture_default_str();
  command->add_option("--key-type", arguments->key_type, "i32 or i64")->capture_default_str();
  command->add_option("--payload-type", arguments->payload_type, "i32 or i64 (default: as the key)");
  command->add_option("--distribution", arguments->distribution, "dense, uniform or zipf:Z")->capture_default_str();
  command->add_option("--match-ratio", arguments->match_ratio, "Share of right rows with a left key, 0 to 1")
      ->capture_default_str();
  command->add_option("--multiplicity", arguments->multiplicity, "Left rows a key")->capture_default_str();
  command->add_option("--memory", arguments->memory, "Of the tables: ordinary, or pinned for the device")
      ->capture_default_str();
  add_operator_options(*command, *arguments);
  command->add_option("--tuning", arguments->tuning,
                      "As for garuda join: address=direct,…; of mode resident: method=global,payload=gather,…");
  command->add_option("--mode", arguments->mode, "end-to-end, or resident (paths compute, cuda)")
      ->capture_default_str();
  command->add_flag("--floor", arguments->floor, "Also time the bare draws of the graphics path (direct addresses)");
  command->callback([=] { select([=] { return flushed(run_join(*arguments, cancelled)); }); });
}

void add_points(CLI::App& bench, Select const& select, std::atomic<bool> const* cancelled) {
  auto const arguments = std::make_shared<PointsArguments>();  // shared as in add_join
  auto* const command = bench.add_subcommand("points", "Bare draws, one point a row: the raster floor");
  command->add_option("--rows", arguments->rows, "Points: 2^27, 16M, 6e6")->required();
  command->add_option("--image", arguments->image, "Width and height, a power of two")->capture_default_str();
  command->add_option("--order", arguments->order, "random or pixel")->capture_default_str();
  command->add_option("--blend", arguments->blend, "none (R32G32_UINT) or add (R32_SFLOAT)")->capture_default_str();
  command->add_option("--path", arguments->path, "graphics")->capture_default_str();
  command->add_option("--device", arguments->device, "auto, an index or part of a name")->capture_default_str();
  command->add_option("--mode", arguments->mode, "resident")->capture_default_str();
  command->add_option("--repeat", arguments->repeat, "Timed runs")->capture_default_str();
  command->add_option("--seed", arguments->seed, "Of the random order")->capture_default_str();
  command->add_flag("--json", arguments->json, "One JSON object");
  command->callback([=] { select([=] { return flushed(run_points(*arguments, cancelled)); }); });
}

void add_partition(CLI::App& bench, Select const& select, std::atomic<bool> const* cancelled) {
  auto const arguments = std::make_shared<PartitionArguments>();  // shared as in add_join
  auto* const command = bench.add_subcommand("partition", "Radix partitioning against a copy: the memory floor");
  command->add_option("--rows", arguments->rows, "Keys: 2^27, 64M, 6e6")->required();
  command->add_option("--bits", arguments->bits, "2^bits partitions, 1 to 16")->capture_default_str();
  command->add_option("--key-type", arguments->key_type, "i32 or i64, payload alike")->capture_default_str();
  command->add_option("--payload", arguments->payload, "Columns moved along with key and row id")
      ->capture_default_str();
  command->add_flag("--mixed", arguments->mixed, "Partition by hash digits, not by the lowest bits");
  command->add_option("--row-ids", arguments->row_ids, "made (the keys' numbers) or stored (read beside the keys)")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--instructions", arguments->instructions,
                      "baseline, avx2 or avx512; default: the best there is");
  command->add_option("--threads", arguments->threads, "Numbers of threads to measure, 0: all")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--repeat", arguments->repeat, "Timed runs")->capture_default_str();
  command->add_option("--seed", arguments->seed, "Of the keys")->capture_default_str();
  command->add_flag("--json", arguments->json, "One JSON object a measurement");
  command->callback([=] { select([=] { return flushed(run_partition(*arguments, cancelled)); }); });
}

void add_group_by(CLI::App& bench, Select const& select, std::atomic<bool> const* cancelled) {
  auto const arguments = std::make_shared<GroupByArguments>();  // shared as in add_join
  auto* const command = bench.add_subcommand("group-by", "Group-bys of synthetic tables");
  command->add_option("--rows", arguments->rows, "Rows: 2^27, 16M, 6e6")->required();
  command->add_option("--groups", arguments->groups, "Groups that rows draw from")->required();
  command->add_option("--keys", arguments->keys, "Key columns")->capture_default_str();
  command->add_option("--agg", arguments->aggregates, "Aggregates of one value column: count,sum,min,max,mean")
      ->capture_default_str();
  command->add_option("--value-type", arguments->value_type, "i32, i64 or f64")->capture_default_str();
  command->add_option("--distribution", arguments->distribution, "uniform or zipf:Z")->capture_default_str();
  add_operator_options(*command, *arguments);
  command->add_option("--tuning", arguments->tuning,
                      "As for garuda group-by: address=direct,…; of mode resident: grouping=table,…");
  command->add_option("--memory", arguments->memory, "Of the tables: ordinary, or pinned for the device")
      ->capture_default_str();
  command->add_option("--mode", arguments->mode, "end-to-end, or resident (paths compute, cuda)")
      ->capture_default_str();
  command->add_flag("--floor", arguments->floor, "Also time one bare additive draw a row, at its group's pixel");
  command->callback([=] { select([=] { return flushed(run_group_by(*arguments, cancelled)); }); });
}

}  // namespace

Result<void> flushed(Result<void> result) {
  auto const is_written = std::fflush(stdout) == 0;
  if (!result || is_written) return result;
  return fail(ErrorCode::output, "standard output cannot be written");
}

void add_bench_command(CLI::App& app, Select const& select, std::atomic<bool> const* cancelled) {
  auto* const bench = app.add_subcommand("bench", "Benchmarks: verify, then time");
  bench->require_subcommand(1);
  add_join(*bench, select, cancelled);
  add_points(*bench, select, cancelled);
  add_partition(*bench, select, cancelled);
  add_group_by(*bench, select, cancelled);
  add_primitives_command(*bench, select, cancelled);
  add_gpu_command(*bench, select, cancelled);
  add_histogram_command(*bench, select, cancelled);
}

}  // namespace garuda::bench
