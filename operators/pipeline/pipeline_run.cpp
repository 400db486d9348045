// Pipelines at work.
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"
#include "core/stopwatch.hpp"
#include "operators/pipeline/pipeline.hpp"
#include "operators/pipeline/rows.hpp"

namespace garuda::pipeline {
namespace {

/// Most rows of a morsel: a few columns of so many values stay in a second-level cache.
constexpr std::uint64_t kMostMorselRows = std::uint64_t{1} << 16;
/// Fewest, where a table has rows for several morsels a thread: what a morsel costs beside its rows stays small.
constexpr std::uint64_t kFewestMorselRows = std::uint64_t{1} << 13;
constexpr std::uint64_t kMorselsPerLane = 4;
/// Under a memory limit rows of 128 bytes take an eighth of it on all lanes; fewer than kFewestLimitedRows cost time.
constexpr std::uint64_t kLimitShare = 1024;
constexpr std::uint64_t kFewestLimitedRows = 1024;
/// Rows of the source from which it is told how many rows a key has.
constexpr std::uint64_t kSampledRows = std::uint64_t{1} << 13;
/// No output has more rows than lie between the first rows of two of them.
constexpr std::uint64_t kRowsOfOutput = std::uint64_t{1} << 40;
/// Batches of fewer rows on average are put together.
constexpr std::uint64_t kFewBatchRows = std::uint64_t{1} << 13;

RowNumbers numbers(std::int64_t first, std::uint64_t count) {
  RowNumbers all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

}  // namespace

/// The outputs of the leading morsels that are whole, for results of so many rows at most.
class Pipeline::Prefix {
 public:
  Prefix(std::span<Output> outputs, std::optional<std::uint64_t> rows) : outputs_(outputs), wanted_(rows) {}

  bool is_enough() const noexcept { return is_enough_.load(std::memory_order_relaxed); }
  std::size_t size() const noexcept { return size_; }

  void add(std::size_t morsel) {
    std::lock_guard const lock(mutex_);
    outputs_[morsel].is_done = true;
    for (; size_ < outputs_.size() && outputs_[size_].is_done; ++size_) rows_ += outputs_[size_].rows;
    if (wanted_ && rows_ >= *wanted_) is_enough_ = true;
  }
  /// The first failure ends the run.
  void fail_with(Error error) {
    std::lock_guard const lock(mutex_);
    if (outcome_) outcome_ = tl::unexpected(std::move(error));
    is_enough_ = true;
  }
  Result<void> outcome() && { return std::move(outcome_); }

 private:
  std::span<Output> outputs_;
  std::optional<std::uint64_t> wanted_;
  std::mutex mutex_;
  std::atomic<bool> is_enough_{false};
  std::size_t size_ = 0;
  std::uint64_t rows_ = 0;
  Result<void> outcome_;
};

std::vector<Pipeline::Morsel> Pipeline::cut_morsels() const {
  auto const rows = static_cast<std::uint64_t>(source_.num_rows());
  auto wanted = std::clamp(rows / (kMorselsPerLane * options_.lanes), kFewestMorselRows, kMostMorselRows);
  if (options_.space != nullptr)
    wanted = std::clamp(options_.memory_limit_bytes / (kLimitShare * options_.lanes), kFewestLimitedRows, wanted);
  std::vector<Morsel> morsels;
  std::int64_t first = 0;
  for (std::size_t b = 0; b < source_.num_batches(); ++b) {
    auto const in_batch = source_.batch(b).num_rows;
    for (std::int64_t begin = 0; begin < in_batch; begin += static_cast<std::int64_t>(wanted))
      morsels.push_back({b, begin, first + begin, std::min(wanted, static_cast<std::uint64_t>(in_batch - begin))});
    first += in_batch;
  }
  return morsels;
}

Result<void> Pipeline::push(std::size_t step, Chunk chunk, std::size_t lane, Output& output) const {
  if (step == steps_.size()) return write(std::move(chunk), output);
  auto& stage = *stages_[step];
  Stopwatch const watch;
  std::uint64_t behind_ns = 0;
  GARUDA_TRY_ASSIGN(auto const read, stage.loader.load(chunk));
  GARUDA_EXPECTS(read == chunk.num_rows);  // views and values of a fixed width have no limit
  auto const pushed = steps_[step]->push(std::move(chunk), lane, [&](Chunk given) -> Result<void> {
    stage.rows += given.num_rows;
    Stopwatch const behind;
    auto done = push(step + 1, std::move(given), lane, output);
    behind_ns += behind.elapsed_ns();
    return done;
  });
  stage.ns += watch.elapsed_ns() - behind_ns;
  return pushed;
}

Result<void> Pipeline::write(Chunk chunk, Output& output) const {
  GARUDA_TRY_ASSIGN(auto const read, written_.load(chunk));
  if (read < chunk.num_rows) {
    GARUDA_TRY_ASSIGN(auto first, take(chunk, numbers(0, read), result_));
    GARUDA_TRY_ASSIGN(auto rest, take(chunk, numbers(static_cast<std::int64_t>(read), chunk.num_rows - read), result_));
    GARUDA_TRY(write(std::move(first), output));
    return write(std::move(rest), output);
  }
  output.rows += chunk.num_rows;
  if (options_.space != nullptr) {
    std::vector<materialize::KeptColumn> columns;
    for (auto const slot : visible_)
      columns.push_back(
          {chunk.columns[slot].array, chunk.columns[slot].owner, is_range_ && columns_.slots[slot].source.has_value()});
    GARUDA_TRY_ASSIGN(auto kept, options_.space->keep(written_schema_, static_cast<std::int64_t>(chunk.num_rows),
                                                      std::move(columns)));
    output.batches.push_back(std::move(kept));
    return {};
  }
  auto owners = std::make_shared<std::vector<std::shared_ptr<void const>>>();
  Batch batch{static_cast<std::int64_t>(chunk.num_rows), {}, {}};
  for (auto const slot : visible_) {
    batch.columns.push_back(chunk.columns[slot].array);
    owners->push_back(chunk.columns[slot].owner);
  }
  batch.owner = std::move(owners);
  return take_batch(std::move(batch), output);
}

Result<void> Pipeline::take_batch(Batch batch, Output& output) const {
  if (groups_ != nullptr) {
    Stopwatch const watch;
    auto added =
        groups_->add(output.lane, output.first + output.rows - static_cast<std::uint64_t>(batch.num_rows), batch);
    output.ns += watch.elapsed_ns();
    return added;
  }
  output.batches.push_back(std::move(batch));
  return {};
}

template <class Make>
Result<std::size_t> Pipeline::push_all(std::size_t step, std::size_t count, std::span<Output> outputs,
                                       std::optional<std::uint64_t> rows, Make const& make) const {
  Prefix prefix(outputs, rows);
  auto const body = [&](std::size_t i) {
    if (prefix.is_enough()) return;
    // A thread that waits within a chunk must not begin another one, which has the same lane.
    auto pushed = oneapi::tbb::this_task_arena::isolate([&] {
      auto const lane = static_cast<std::size_t>(oneapi::tbb::this_task_arena::current_thread_index());
      outputs[i].lane = lane;
      return push(step, make(i), lane, outputs[i]);
    });
    if (!pushed)
      prefix.fail_with(std::move(pushed).error());
    else
      prefix.add(i);
  };
  auto const all =
      rows ? for_each_block_in_turn(count, &options_.control, body) : for_each_block(count, &options_.control, body);
  auto const size = prefix.size();
  GARUDA_TRY(std::move(prefix).outcome());
  GARUDA_TRY(all);
  return size;
}

Chunk Pipeline::chunk_of(Morsel const& morsel) const {
  Chunk chunk{morsel.rows, std::vector<OriginRows>(columns_.num_origins),
              std::vector<ChunkColumn>(columns_.slots.size())};
  chunk.origins[0] = {morsel.batch, morsel.in_batch, morsel.begin, nullptr};
  return chunk;
}

Result<Pipeline::Output> Pipeline::run_steps(std::vector<Morsel> const& morsels,
                                             std::optional<std::uint64_t> rows) const {
  Output all;
  auto const take_outputs = [&](std::vector<Output>& outputs, std::size_t whole) {
    for (std::size_t i = 0; i < whole; ++i) {
      all.rows += outputs[i].rows;
      all.ns += outputs[i].ns;
      std::ranges::move(outputs[i].batches, std::back_inserter(all.batches));
    }
  };
  auto const left = [&]() -> std::optional<std::uint64_t> {
    return rows ? std::optional(*rows - std::min(*rows, all.rows)) : std::nullopt;
  };
  std::uint64_t first = 1;
  auto const outputs_of = [&first](std::size_t count) {
    std::vector<Output> outputs(count);
    for (auto& output : outputs) output.first = first++ * kRowsOfOutput;
    return outputs;
  };
  auto outputs = outputs_of(morsels.size());
  GARUDA_TRY_ASSIGN(auto const whole,
                    push_all(0, morsels.size(), outputs, rows, [&](std::size_t i) { return chunk_of(morsels[i]); }));
  take_outputs(outputs, whole);
  for (std::size_t s = 0; s < steps_.size() && left() != 0; ++s) {
    GARUDA_TRY_ASSIGN(auto chunks, steps_[s]->finish());
    auto held_back = outputs_of(chunks.size());
    for (auto const& chunk : chunks) stages_[s]->rows += chunk.num_rows;
    GARUDA_TRY_ASSIGN(auto const behind, push_all(s + 1, chunks.size(), held_back, left(),
                                                  [&](std::size_t i) { return std::move(chunks[i]); }));
    take_outputs(held_back, behind);
  }
  return all;
}

/// The rows of all batches, of which many small ones are put together.
Result<Table> Pipeline::put_together(std::vector<Batch> batches, std::optional<std::uint64_t> rows) {
  Table table(std::move(written_schema_), std::move(batches));
  auto const num_rows = static_cast<std::uint64_t>(table.num_rows());
  if (rows && num_rows > *rows) table = slice_rows(table.view(), 0, *rows);
  auto const num_batches = table.batches().size();
  if (num_batches < 2 || num_rows / num_batches >= kFewBatchRows) return table;
  std::array const all{numbers(0, static_cast<std::uint64_t>(table.num_rows()))};
  return gather_rows(table.view(), all, options_.control, options_.space);
}

Result<Table> Pipeline::run(std::vector<std::string> names, std::optional<std::uint64_t> rows, StringForm strings) {
  return or_out_of_memory("the rows of a query", [&]() -> Result<Table> {
    if (steps_.empty()) {
      std::vector<std::size_t> columns;
      for (auto const slot : visible_) columns.push_back(columns_.slots[slot].column);
      auto picked = pick_columns(source_, columns, std::move(names));
      return rows ? slice_rows(picked.view(), 0, *rows) : std::move(picked);
    }
    GARUDA_TRY(prepare(strings));
    written_schema_ = schema_of(std::move(names));
    GARUDA_TRY_ASSIGN(auto output, run_steps(cut_morsels(), rows));
    return put_together(std::move(output.batches), rows);
  });
}

/// Runs the first rows, which leave `morsels`, and adds what comes out to `sample`. Whether rows like these are grouped
/// as they come; rows that say too little are not, for there are few.
Result<bool> Pipeline::sample_groups(group_by::PipelinedGroups const& groups, std::vector<Morsel>& morsels,
                                     std::vector<Batch>& sample) const {
  if (morsels.empty()) return true;
  auto& morsel = morsels.front();
  auto const rows = std::min(morsel.rows, kSampledRows);
  auto chunk = chunk_of(morsel);
  chunk.num_rows = rows;
  std::vector<Output> output(1);
  GARUDA_TRY(push_all(0, 1, output, std::nullopt, [&](std::size_t) { return std::move(chunk); }));
  sample = std::move(output[0].batches);
  morsel.in_batch += static_cast<std::int64_t>(rows);
  morsel.begin += static_cast<std::int64_t>(rows);
  morsel.rows -= rows;
  if (morsel.rows == 0) morsels.erase(morsels.begin());
  std::vector<BatchView> views;
  for (auto const& batch : sample) views.push_back(batch.view());
  return groups.pays(TableView(written_schema_, views));
}

Result<Pipeline::Grouped> Pipeline::run_grouped(std::vector<std::string> names, GroupBySpec const& spec) {
  return or_out_of_memory("the rows of a query", [&]() -> Result<Grouped> {
    GARUDA_TRY(prepare(StringForm::view));
    written_schema_ = schema_of(std::move(names));
    auto morsels = cut_morsels();
    GARUDA_TRY_ASSIGN(auto const groups,
                      group_by::PipelinedGroups::create(written_schema_, spec, options_.lanes, options_.control));
    std::vector<Batch> batches;
    bool pays = groups != nullptr;
    if (pays && !spec.keys.empty()) {
      GARUDA_TRY_ASSIGN(pays, sample_groups(*groups, morsels, batches));
    }
    if (!pays) {
      GARUDA_TRY_ASSIGN(auto rest, run_steps(morsels, std::nullopt));
      std::ranges::move(rest.batches, std::back_inserter(batches));
      GARUDA_TRY_ASSIGN(auto table, put_together(std::move(batches), std::nullopt));
      return Grouped{std::move(table)};
    }
    groups_ = groups.get();
    Output sampled;
    for (auto& batch : batches) {
      sampled.rows += static_cast<std::uint64_t>(batch.num_rows);
      GARUDA_TRY(take_batch(std::move(batch), sampled));
    }
    GARUDA_TRY_ASSIGN(auto const rest, run_steps(morsels, std::nullopt));
    groups_ = nullptr;
    Stopwatch const watch;
    GARUDA_TRY_ASSIGN(auto table, groups->finish());
    return Grouped{std::move(table), true, sampled.rows + rest.rows, sampled.ns + rest.ns + watch.elapsed_ns()};
  });
}

}  // namespace garuda::pipeline
