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
constexpr std::uint64_t kMostMorselRows = std::uint64_t{1} << 15;
/// Fewest, where a table has rows for several morsels a thread: what a morsel costs beside its rows stays small.
constexpr std::uint64_t kFewestMorselRows = std::uint64_t{1} << 13;
constexpr std::uint64_t kMorselsPerLane = 4;
/// Under a memory limit rows of 128 bytes take an eighth of it on all lanes; fewer than kFewestLimitedRows cost time.
constexpr std::uint64_t kLimitShare = 1024;
constexpr std::uint64_t kFewestLimitedRows = 1024;
/// Rows of the source from which it is told how many rows a key has.
constexpr std::uint64_t kSampledRows = std::uint64_t{1} << 13;
/// Places that they come from: keys that come again are told from those of rows that lie together.
constexpr std::size_t kSampledPlaces = 8;

/// A number for the first row that a morsel gives which begins at `row`: the others' follow it, and come before those
/// of the next morsel unless the rows of joins multiply by more than 2^24.
std::uint64_t number_of(std::int64_t row) noexcept { return static_cast<std::uint64_t>(row) << 24; }

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
  if (groups_ != nullptr) {
    auto const rows = table_of(chunk, visible_);
    return add_to_groups(rows.view(), output);
  }
  auto owners = std::make_shared<std::vector<std::shared_ptr<void const>>>();
  Batch batch{static_cast<std::int64_t>(chunk.num_rows), {}, {}};
  for (auto const slot : visible_) {
    batch.columns.push_back(chunk.columns[slot].array);
    owners->push_back(chunk.columns[slot].owner);
  }
  batch.owner = std::move(owners);
  output.batches.push_back(std::move(batch));
  return {};
}

/// Adds the last rows of an output, a batch, to the groups.
Result<void> Pipeline::add_to_groups(TableView rows, Output& output) const {
  Stopwatch const watch;
  auto added =
      groups_->add(output.lane, output.first + output.rows - static_cast<std::uint64_t>(rows.num_rows()), rows);
  output.ns += watch.elapsed_ns();
  return added;
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
  std::vector<Output> outputs(morsels.size());
  for (std::size_t i = 0; i < morsels.size(); ++i) outputs[i].first = number_of(morsels[i].begin);
  GARUDA_TRY_ASSIGN(auto const whole,
                    push_all(0, morsels.size(), outputs, rows, [&](std::size_t i) { return chunk_of(morsels[i]); }));
  take_outputs(outputs, whole);
  auto behind_all = source_.num_rows();
  for (std::size_t s = 0; s < steps_.size() && left() != 0; ++s) {
    GARUDA_TRY_ASSIGN(auto chunks, steps_[s]->finish());
    std::vector<Output> held_back(chunks.size());
    for (auto& output : held_back) output.first = number_of(behind_all++);
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
    GARUDA_TRY(prepare(std::move(names), strings));
    GARUDA_TRY_ASSIGN(auto output, run_steps(cut_morsels(), rows));
    return put_together(std::move(output.batches), rows);
  });
}

/// Runs a few rows of several places, which leave `morsels`.
Result<std::vector<Pipeline::Output>> Pipeline::run_samples(std::vector<Morsel>& morsels) const {
  std::vector<Output> samples(std::min(morsels.size(), kSampledPlaces));
  std::vector<Chunk> chunks;
  for (std::size_t p = 0; p < samples.size(); ++p) {
    auto& morsel = morsels[p * morsels.size() / samples.size()];
    auto& chunk = chunks.emplace_back(chunk_of(morsel));
    samples[p].first = number_of(morsel.begin);
    chunk.num_rows = std::min(morsel.rows, kSampledRows / samples.size());
    morsel.in_batch += static_cast<std::int64_t>(chunk.num_rows);
    morsel.begin += static_cast<std::int64_t>(chunk.num_rows);
    morsel.rows -= chunk.num_rows;
  }
  std::erase_if(morsels, [](Morsel const& morsel) { return morsel.rows == 0; });
  GARUDA_TRY(push_all(0, samples.size(), samples, std::nullopt, [&](std::size_t i) { return std::move(chunks[i]); }));
  return samples;
}

/// Whether rows are grouped as they come, by the samples that left `morsels`.
Result<bool> Pipeline::pays_to_group(group_by::PipelinedGroups& groups, std::span<Output const> samples,
                                     std::span<Morsel const> morsels) const {
  auto const all = static_cast<std::uint64_t>(source_.num_rows());
  auto read = all;
  for (auto const& morsel : morsels) read -= morsel.rows;
  std::uint64_t given = 0;
  std::vector<std::vector<BatchView>> batches;
  for (auto const& sample : samples) {
    given += sample.rows;
    auto& views = batches.emplace_back();
    for (auto const& batch : sample.batches) views.push_back(batch.view());
  }
  std::vector<TableView> places;
  for (auto const& views : batches) places.emplace_back(written_schema_, views);
  GARUDA_TRY_ASSIGN(auto const pays, groups.pays(places, given * (all / std::max<std::uint64_t>(read, 1))));
  return pays ? groups.start(places) : Result<bool>(false);
}

/// The rows that are to be grouped, as a table.
Result<Pipeline::Grouped> Pipeline::run_ungrouped(std::vector<Morsel> const& morsels, std::vector<Output> samples) {
  GARUDA_TRY_ASSIGN(auto all, run_steps(morsels, std::nullopt));
  for (auto& sample : samples) std::ranges::move(sample.batches, std::back_inserter(all.batches));
  GARUDA_TRY_ASSIGN(auto table, put_together(std::move(all.batches), std::nullopt));
  return Grouped{std::move(table)};
}

Result<Pipeline::Grouped> Pipeline::run_grouped(std::vector<std::string> names, GroupBySpec const& spec,
                                                std::span<std::string const> shown) {
  return or_out_of_memory("the rows of a query", [&]() -> Result<Grouped> {
    auto const read = grouped_columns(names, spec);
    auto const given = std::exchange(visible_, read.slots);
    GARUDA_TRY(prepare(read.names, StringForm::view));
    auto morsels = cut_morsels();
    group_by::PipelinedGroups::Rows rows{written_schema_, {}, read.integers};
    for (auto const slot : visible_) rows.have_one_dictionary.push_back(has_one_dictionary(slot));
    GARUDA_TRY_ASSIGN(auto const groups,
                      group_by::PipelinedGroups::create(rows, spec, shown, options_.lanes, options_.control));
    auto const run_anew = [&]() -> Result<Grouped> {
      visible_ = given;
      GARUDA_TRY(prepare(std::move(names), StringForm::view));
      return run_ungrouped(cut_morsels(), {});
    };
    std::vector<Output> samples;
    bool pays = groups != nullptr;
    if (pays && groups->wants_samples()) {
      GARUDA_TRY_ASSIGN(samples, run_samples(morsels));
    }
    if (pays) {
      GARUDA_TRY_ASSIGN(pays, pays_to_group(*groups, samples, morsels));
    }
    if (!pays) return read.slots == given ? run_ungrouped(morsels, std::move(samples)) : run_anew();
    groups_ = groups.get();
    allow_narrow(read);
    Output sampled;
    for (auto& sample : samples)
      for (auto const& batch : sample.batches) {
        sampled.first = sample.first;
        sampled.rows += static_cast<std::uint64_t>(batch.num_rows);
        auto const view = batch.view();
        GARUDA_TRY(add_to_groups(TableView(written_schema_, std::span(&view, 1)), sampled));
      }
    GARUDA_TRY_ASSIGN(auto const rest, run_steps(morsels, std::nullopt));
    groups_ = nullptr;
    Stopwatch const watch;
    GARUDA_TRY_ASSIGN(auto table, groups->finish());
    if (table)
      return Grouped{std::move(*table), true, sampled.rows + rest.rows, sampled.ns + rest.ns + watch.elapsed_ns()};
    return run_anew();  // none of the rows was kept
  });
}

}  // namespace garuda::pipeline
