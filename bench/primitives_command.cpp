#include "bench/primitives_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "bench/primitives_bench.hpp"
#include "bench/row_count.hpp"

namespace garuda::bench {
namespace {

// Options as they were typed.
struct PrimitivesArguments {
  std::string op;
  std::string rows;
  std::string order = "stable";
  std::string rows_order = "random";
  PrimitivesRequest request;
  std::uint32_t subgroup = 0;
  bool json = false;
};

/// One of two words, the first true. Errors: usage.
Result<bool> parse_either(std::string_view text, std::string_view first, std::string_view second) {
  if (text == first || text == second) return text == first;
  return fail(ErrorCode::usage, fmt::format("unknown value (allowed: {}, {}): '{}'", first, second, text));
}

Result<void> run_primitives(PrimitivesArguments const& arguments, std::atomic<bool> const* cancelled) {
  auto request = arguments.request;
  GARUDA_TRY_ASSIGN(request.op, parse_primitive_op(arguments.op));
  GARUDA_TRY_ASSIGN(request.rows, parse_row_count(arguments.rows));
  GARUDA_TRY_ASSIGN(request.stable, parse_either(arguments.order, "stable", "any"));
  GARUDA_TRY_ASSIGN(request.clustered, parse_either(arguments.rows_order, "clustered", "random"));
  if (arguments.subgroup != 0) request.subgroup_size = arguments.subgroup;
  request.cancelled = cancelled;
  GARUDA_TRY_ASSIGN(auto const outcome, run_primitives_bench(request));
  if (arguments.json) {
    fmt::print("{}\n{}\n", to_json_line(outcome.record), to_json_line(outcome.copy));
    return {};
  }
  CopyBandwidth const copy{"copying as many bytes,", bytes_per_second(outcome.copy)};
  fmt::print("{}  {}; time: {}\n", to_text(outcome.record, copy), outcome.tuning, outcome.clock);
  return {};
}

}  // namespace

void add_primitives_command(CLI::App& bench, Select const& select, std::atomic<bool> const* cancelled) {
  auto const arguments = std::make_shared<PrimitivesArguments>();  // the parser and what is selected both refer to them
  auto& request = arguments->request;
  auto* const command = bench.add_subcommand("primitives", "Compute passes on resident data, against a copy");
  command->add_option("--op", arguments->op, "copy, reduce, scan, histogram, partition, gather, segments or compact")
      ->required();
  command->add_option("--rows", arguments->rows, "Elements of 4 bytes, or keys: 2^27, 16M, 6e6")->required();
  command->add_option("--bits", request.bits, "Of a digit: histogram, partition")->capture_default_str();
  command->add_option("--payload", request.payload, "Columns that move with the keys")->capture_default_str();
  command->add_option("--order", arguments->order, "Of rows in a bin: stable or any")->capture_default_str();
  command->add_option("--rows-order", arguments->rows_order, "Of gathered rows: random or clustered")
      ->capture_default_str();
  command->add_option("--segment-rows", request.segment_rows, "Elements of a segment, on the average")
      ->capture_default_str();
  command->add_option("--tuning", request.tuning, "Sizes of the passes: partition_items=8,…");
  command->add_option("--subgroup", arguments->subgroup, "Size to force, 0: the device's")->capture_default_str();
  command->add_option("--device", request.device, "auto, an index or part of a name")->capture_default_str();
  command->add_option("--repeat", request.repeat, "Timed runs")->capture_default_str();
  command->add_option("--seed", request.seed, "Of the generated words")->capture_default_str();
  command->add_flag("--json", arguments->json, "Two JSON objects, the primitive and the copy beside it");
  command->callback([=] { select([=] { return flushed(run_primitives(*arguments, cancelled)); }); });
}

}  // namespace garuda::bench
