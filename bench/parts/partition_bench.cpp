#include "bench/parts/parts.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "bench/workloads/random.hpp"
#include "bench/workloads/words.hpp"
#include "core/buffer.hpp"
#include "core/kept_memory.hpp"
#include "core/parallel_blocks.hpp"
#include "core/stopwatch.hpp"
#include "operators/calibrate/copy_rates.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::bench {
namespace {

using partition::RadixDigit;

constexpr std::array kRowIds{Word<RowIds>{"made", RowIds::made}, Word<RowIds>{"stored", RowIds::stored}};
constexpr std::int64_t kCopiedBytes = std::int64_t{256} << 20;

std::uint64_t row_id_bytes(std::uint64_t rows) { return rows > (std::uint64_t{1} << 32) ? 8 : 4; }

// Random words: the keys, then the payload columns.
struct Input {
  std::uint32_t word_bytes = 4;
  std::uint64_t rows = 0;
  std::vector<AlignedBuffer> columns;
  std::vector<partition::PayloadColumn> payload;

  Result<keys::EncodedKeys> keys(RowIds row_ids) const {
    keys::EncodedKeys keys;
    keys.key_bits = 8 * word_bytes;
    keys.num_rows = rows;
    keys.table_rows = rows;
    keys.words = columns[0].data();
    keys.max = ~std::uint64_t{0} >> (64 - keys.key_bits);
    if (row_ids == RowIds::made) return keys;
    GARUDA_TRY_ASSIGN(keys.row_ids, AlignedBuffer::allocate(static_cast<std::int64_t>(rows * row_id_bytes(rows))));
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, rows, 1U << 14), [&](auto const& range) {
      for (auto row = range.begin(); row != range.end(); ++row) {
        if (row_id_bytes(rows) == 4)
          keys.row_ids.template as<std::uint32_t>()[row] = static_cast<std::uint32_t>(row);
        else
          keys.row_ids.template as<std::uint64_t>()[row] = row;
      }
    });
    return keys;
  }
  std::uint64_t key(std::uint64_t row) const {
    return word_bytes == 4 ? columns[0].as<std::uint32_t>()[row] : columns[0].as<std::uint64_t>()[row];
  }
};

Result<void> check(PartitionRequest const& request) {
  if (request.rows == 0) return fail(ErrorCode::usage, "--rows must be at least 1: 0");
  if (request.row_ids.empty()) return fail(ErrorCode::usage, "neither made nor stored row ids to measure");
  if (request.threads.empty()) return fail(ErrorCode::usage, "no number of threads to measure");
  if (request.bits < 1 || request.bits > partition::kMaxRadixBits)
    return fail(ErrorCode::usage,
                fmt::format("radix bits out of range [1, {}]: {}", partition::kMaxRadixBits, request.bits));
  return check(static_cast<Sampling const&>(request));
}

Result<InstructionSet> parse_instructions(std::string const& name) {
  if (name.empty()) return best_instruction_set();
  std::string names;
  for (auto const set : instruction_sets()) {
    if (to_string(set) == name) return set;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(set));
  }
  return fail(ErrorCode::usage, fmt::format("instruction set must be one of {} on this machine: {}", names, name));
}

Result<Input> make_input(PartitionRequest const& request) {
  Input input;
  input.word_bytes = request.key_type == KeyType::i32 ? 4 : 8;
  input.rows = request.rows;
  for (std::uint32_t c = 0; c <= request.payload; ++c) {
    GARUDA_TRY_ASSIGN(auto column, AlignedBuffer::allocate(static_cast<std::int64_t>(request.rows * input.word_bytes)));
    auto const seed = derive_seed(request.seed, c);
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, request.rows, 1U << 14), [&](auto const& range) {
      for (auto row = range.begin(); row != range.end(); ++row) {
        auto const word = RowRandom(seed, row).next();
        std::memcpy(column.data() + row * input.word_bytes, &word, input.word_bytes);
      }
    });
    if (c > 0) input.payload.push_back({input.word_bytes, {{0, column.data()}}});
    input.columns.push_back(std::move(column));
  }
  return input;
}

// Every row once, in the partition of its key, after the rows before it; its key and payload with it.
Result<void> verify(Input const& input, RadixDigit digit, partition::PartitionedKeys const& result) {
  std::atomic<std::uint64_t> wrong{0};
  tbb::parallel_for(std::uint32_t{0}, result.num_partitions(), [&](std::uint32_t p) {
    std::uint64_t next_row = 0;
    for (auto i = result.offsets[p]; i < result.offsets[p + 1]; ++i) {
      auto const row = result.row_id(i);
      auto const key = input.word_bytes == 4 ? result.keys32()[i] : result.keys64()[i];
      // Rows ascend in each partition and each is in its key's: so none is there twice.
      bool good = row >= next_row && row < input.rows && key == input.key(row) && partition_of(key, digit) == p;
      next_row = row + 1;
      for (std::size_t c = 0; good && c < result.payload.size(); ++c)
        good = std::memcmp(result.payload[c].data() + i * input.word_bytes,
                           input.columns[c + 1].data() + row * input.word_bytes, input.word_bytes) == 0;
      if (!good) wrong.fetch_add(1, std::memory_order_relaxed);
    }
  });
  if (wrong == 0 && result.num_rows() == input.rows) return {};
  return fail(ErrorCode::device_failure, fmt::format("of {} partitioned rows so many are not where they belong: {}",
                                                     result.num_rows(), wrong.load()));
}

/// Samples that move `bytes` each, against the mean of the copies, of `copied_bytes` each, right before and after each.
RatioSummary compare(std::uint64_t bytes, std::vector<std::uint64_t> const& samples_ns, std::uint64_t copied_bytes,
                     std::vector<std::uint64_t> const& copies_ns) {
  std::vector<std::uint64_t> as_copy;  // what a copy of as many bytes takes, twice
  std::vector<std::uint64_t> taken;
  auto const times = static_cast<double>(bytes) / static_cast<double>(copied_bytes);
  for (std::size_t i = 0; i < samples_ns.size(); ++i) {
    as_copy.push_back(static_cast<std::uint64_t>(static_cast<double>(copies_ns[i] + copies_ns[i + 1]) * times));
    taken.push_back(2 * std::max<std::uint64_t>(samples_ns[i], 1));
  }
  return summarise_ratios(as_copy, taken);
}

Record make_record(PartitionRequest const& request, std::uint32_t word_bytes, InstructionSet instructions,
                   RowIds row_ids, std::uint32_t threads) {
  Plan plan;
  plan.path = Path::cpu;
  auto record = resident_record("partition", Path::cpu, "cpu", driver_of(plan, threads), request.rows);
  auto const row_id_times = std::uint64_t{row_ids == RowIds::stored ? 2U : 1U};
  record.bytes = request.rows *
                 ((3 + 2 * std::uint64_t{request.payload}) * word_bytes + row_id_times * row_id_bytes(request.rows));
  record.choices = fmt::format("2^{} partitions, {} digit, row ids {}, {}", request.bits,
                               request.mixed ? "mixed" : "raw", word_of(kRowIds, row_ids), to_string(instructions));
  return record;
}

Result<Outcome> measure_one(PartitionRequest const& request, Input const& input, InstructionSet instructions,
                            RowIds row_ids, std::uint32_t threads) {
  RadixDigit const digit{request.bits, 0, request.mixed};
  Control control;
  control.cancelled = request.cancelled;
  tbb::task_arena arena(arena_threads(threads));
  // Stored row ids, which are consumed with the keys, are made outside the clock.
  auto const partition_once = [&](std::uint64_t* ns) -> Result<partition::PartitionedKeys> {
    GARUDA_TRY_ASSIGN(auto keys, input.keys(row_ids));
    Stopwatch const watch;
    partition::PartitionOptions options;
    options.payload = input.payload;
    options.instructions = instructions;
    auto result = arena.execute([&] { return radix_partition(std::move(keys), digit, control, std::move(options)); });
    *ns = watch.elapsed_ns();
    return result;
  };
  // Before the first partitioning, whose memory is kept for the others.
  GARUDA_TRY_ASSIGN(auto copy, calibrate::HostCopy::create(kCopiedBytes));
  Contender contender;
  auto& copies = contender.after.emplace_back();
  copies.run = [&arena, &copy]() -> Result<Sample> {
    return Sample{arena.execute([&] { return copy.run(); }), 0, {}, {}};
  };
  contender.verify = [&](Outcome&) -> Result<void> {
    std::uint64_t ns = 0;
    GARUDA_TRY_ASSIGN(auto const result, partition_once(&ns));
    GARUDA_TRY(verify(input, digit, result));
    return copies.take();  // the copy before the first sample
  };
  contender.timed.run = [&]() -> Result<Sample> {
    Sample sample;
    GARUDA_TRY(partition_once(&sample.ns));
    return sample;
  };
  auto& record = contender.outcome.record;
  record = make_record(request, input.word_bytes, instructions, row_ids, threads);
  contender.outcome.notes = {record.choices};
  GARUDA_TRY(measure({&contender, 1}, request));

  auto& outcome = contender.outcome;
  auto const copies_ns = copies.times();
  auto const rate = per_second(2 * copy.bytes(), summarise(copies_ns).median_ns);
  outcome.ratios.emplace_back(fmt::format("share of copies by as many threads, {}B/s", format_rate(rate)),
                              compare(record.bytes, record.samples_ns, 2 * copy.bytes(), copies_ns));
  return std::move(outcome);
}

}  // namespace

Result<RowIds> parse_row_ids(std::string_view text) { return parse_word("row ids", kRowIds, text); }

Result<std::vector<Outcome>> run_partition_bench(PartitionRequest const& request) {
  GARUDA_TRY(check(request));
  // As within an engine: results lie in memory that earlier ones left.
  KeptMemory::Tenancy const keeps_memory;
  KeptMemory::instance().set_limit(std::numeric_limits<std::size_t>::max());
  GARUDA_TRY_ASSIGN(auto const instructions, parse_instructions(request.instructions));
  GARUDA_TRY_ASSIGN(auto const input, make_input(request));
  std::vector<Outcome> outcomes;
  for (auto const threads : request.threads) {
    for (auto const row_ids : request.row_ids) {
      GARUDA_TRY_ASSIGN(auto outcome, measure_one(request, input, instructions, row_ids, threads));
      outcomes.push_back(std::move(outcome));
    }
  }
  return outcomes;
}

}  // namespace garuda::bench
