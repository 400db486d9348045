// The options of the benchmarks of parts: `garuda bench partition`, `histogram` and `primitives`.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "bench/command.hpp"
#include "bench/parts/parts.hpp"
#include "bench/workloads/words.hpp"

namespace garuda::bench {
namespace {

constexpr std::array kStability{Word<bool>{"stable", true}, Word<bool>{"any", false}};
constexpr std::array kClustering{Word<bool>{"random", false}, Word<bool>{"clustered", true}};

/// The fastest first; of each path the best, the middle and the worst setting.
void print_settings(std::vector<Outcome> outcomes) {
  print_header({"path", "setting", "ms", "values/s"});
  auto first = outcomes.begin();
  while (first != outcomes.end()) {
    auto const last =
        std::find_if(first, outcomes.end(), [&](auto const& o) { return o.record.path != first->record.path; });
    std::sort(first, last,
              [](auto const& a, auto const& b) { return a.record.time.median_ns < b.record.time.median_ns; });
    auto const settings = last - first;
    for (auto const position : std::set<std::ptrdiff_t>{0, (settings - 1) / 2, settings - 1}) {
      auto const& [record, notes] = std::tie(first[position].record, first[position].notes);
      print_row({record.path, fmt::format("{} ({} of {})", notes.front(), position + 1, settings), ms_cell(record.time),
                 format_rate(rows_per_second(record))});
    }
    first = last;
  }
}

}  // namespace

void add_partition(Bench const& bench) {
  auto const command =
      Command<PartitionRequest>::add(bench, "partition", "Radix partitioning against a copy: the memory floor");
  auto& request = command->request;
  command->parsed("--rows", request.rows, "", parse_row_count, "Keys: 2^27, 64M, 6e6")->required();
  command->option("--bits", request.bits, "2^bits partitions, 1 to 16");
  command->parsed("--key-type", request.key_type, "i32", parse_key_type, "i32 or i64, payload alike");
  command->option("--payload", request.payload, "Columns moved along with key and row id");
  command->flag("--mixed", request.mixed, "Partition by hash digits, not by the lowest bits");
  command->parsed("--row-ids", request.row_ids, "made,stored", list_of(parse_row_ids),
                  "made (the keys' numbers) or stored (read beside the keys)");
  command->option("--instructions", request.instructions, "baseline, avx2 or avx512; default: the best there is");
  command->option("--threads", request.threads, "Numbers of threads to measure, 0: all")->delimiter(',');
  command->sampling("Timed runs", "Of the keys");
  command->json("One JSON object a measurement");
  command->prints(bench, run_partition_bench);
}

void add_histogram(Bench const& bench) {
  auto const command =
      Command<HistogramRequest>::add(bench, "histogram", "Values counted by their low bits: blending against atomics");
  auto& request = command->request;
  command->parsed("--rows", request.rows, "32M", parse_row_count, "Values: 2^25, 32M, 6e6");
  command->parsed("--bins", request.bins, "2^24", parse_row_count, "A power of two");
  command->parsed("--path", request.paths, "graphics,compute,cuda", list_of(parse_path), "graphics, compute, cuda");
  command->device(request.device);
  command->sampling("Timed runs a setting", "Of the values");
  command->json("One JSON object a setting, a line each");
  command->runs(bench, [](HistogramRequest const& asked, bool json) -> Result<void> {
    GARUDA_TRY_ASSIGN(auto outcomes, run_histogram_bench(asked));
    if (json) return print_all(outcomes, json);
    print_settings(std::move(outcomes));
    return {};
  });
}

void add_primitives(Bench const& bench) {
  auto const command =
      Command<PrimitivesRequest>::add(bench, "primitives", "Compute passes on resident data, against a copy");
  auto& request = command->request;
  command
      ->parsed("--op", request.op, "", parse_primitive_op,
               "copy, reduce, scan, histogram, partition, gather, segments or compact")
      ->required();
  command->parsed("--rows", request.rows, "", parse_row_count, "Elements of 4 bytes, or keys: 2^27, 16M, 6e6")
      ->required();
  command->option("--bits", request.bits, "Of a digit: histogram, partition");
  command->option("--payload", request.payload, "Columns that move with the keys");
  command->parsed(
      "--order", request.stable, "stable", [](std::string_view text) { return parse_word("order", kStability, text); },
      "Of rows in a bin: stable or any");
  command->parsed(
      "--rows-order", request.clustered, "random",
      [](std::string_view text) { return parse_word("order of rows", kClustering, text); },
      "Of gathered rows: random or clustered");
  command->option("--segment-rows", request.segment_rows, "Elements of a segment, on the average");
  command->option("--subgroup", request.subgroup, "Size to force, 0: the device's");
  command->device(request.device);
  command->sampling("Timed runs", "Of the generated words");
  command->json("Two JSON objects, the primitive and the copy beside it");
  command->prints(bench, [](PrimitivesRequest const& asked) -> Result<std::vector<Outcome>> {
    GARUDA_TRY_ASSIGN(auto outcome, run_primitives_bench(asked));
    return std::vector{std::move(outcome)};
  });
}

}  // namespace garuda::bench
