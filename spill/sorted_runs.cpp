#include "spill/sorted_runs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace garuda::spill {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

/// Most runs that are merged at once; each keeps a file open.
constexpr std::size_t kMostFanIn = 64;
constexpr std::size_t kLeastFanIn = 4;
/// Smaller batches are mostly what describes them.
constexpr std::uint64_t kLeastBatchBytes = std::uint64_t{32} << 10;
/// A batch of each run, what is cut off them, and the merged rows.
constexpr std::uint64_t kCopies = 4;

std::uint64_t number_at(arrow::RecordBatch const& batch, int column, std::int64_t row, std::uint64_t of_null) {
  auto const& numbers = static_cast<arrow::Int64Array const&>(*batch.column(column));
  return numbers.IsNull(row) ? of_null : static_cast<std::uint64_t>(numbers.Value(row));
}

/// The rows of `batch` from `begin` on that do not come behind `bound`; rows are sorted.
std::int64_t count_up_to(arrow::RecordBatch const& batch, std::int64_t begin, RowOrder bound,
                         OrderColumns const& columns) {
  auto end = batch.num_rows();
  auto first = begin;
  while (first < end) {
    auto const middle = first + (end - first) / 2;
    if (bound < columns.order_of(batch, middle))
      end = middle;
    else
      first = middle + 1;
  }
  return first - begin;
}

constexpr auto kOrderSentence = "cannot put the rows of the result in order";

}  // namespace

RowOrder OrderColumns::order_of(arrow::RecordBatch const& batch, std::int64_t row) const {
  return {number_at(batch, first, row, std::numeric_limits<std::uint64_t>::max()),
          second ? number_at(batch, *second, row, 0) : 0};
}

Result<RunMerger> RunMerger::open(std::vector<SpillFile> runs, OrderColumns columns) {
  RunMerger merger(std::move(runs), columns);
  for (auto const& run : merger.runs_) {
    GARUDA_TRY_ASSIGN(auto next, run.read());
    merger.cursors_.push_back({std::move(next), nullptr, 0});
  }
  return merger;
}

Result<void> RunMerger::fill() {
  for (auto& cursor : cursors_) {
    if (cursor.batch != nullptr && cursor.position < cursor.batch->num_rows()) continue;
    GARUDA_TRY_ASSIGN(cursor.batch, cursor.next());
    cursor.position = 0;
  }
  std::erase_if(cursors_, [](Cursor const& cursor) { return cursor.batch == nullptr; });
  return {};
}

/// Merges the rows before the end of the batch that ends first: a slice of each batch.
Result<BatchPtr> RunMerger::next() {
  GARUDA_TRY(fill());
  if (cursors_.empty()) return nullptr;
  auto bound = columns_.order_of(*cursors_.front().batch, cursors_.front().batch->num_rows() - 1);
  for (auto const& cursor : cursors_)
    bound = std::min(bound, columns_.order_of(*cursor.batch, cursor.batch->num_rows() - 1));
  std::vector<BatchPtr> slices;
  for (auto& cursor : cursors_) {
    auto const count = count_up_to(*cursor.batch, cursor.position, bound, columns_);
    if (count > 0) slices.push_back(cursor.batch->Slice(cursor.position, count));
    cursor.position += count;
  }
  if (slices.size() == 1) return slices.front();
  return merge(slices);
}

Result<BatchPtr> RunMerger::merge(std::vector<BatchPtr> const& slices) const {
  GARUDA_ARROW_TRY_ASSIGN(auto const rows, arrow::ConcatenateRecordBatches(slices, io::memory_pool()),
                          ErrorCode::output, "cannot bring the rows of sorted runs together");
  std::vector<std::pair<RowOrder, std::uint32_t>> order;
  order.reserve(static_cast<std::size_t>(rows->num_rows()));
  for (std::int64_t i = 0; i < rows->num_rows(); ++i)
    order.emplace_back(columns_.order_of(*rows, i), static_cast<std::uint32_t>(i));
  std::ranges::sort(order);
  GARUDA_ARROW_TRY_ASSIGN(
      std::shared_ptr<arrow::Buffer> positions,
      arrow::AllocateBuffer(rows->num_rows() * std::int64_t{sizeof(std::uint32_t)}, io::memory_pool()),
      ErrorCode::out_of_memory, "cannot bring the rows of sorted runs together");
  std::ranges::transform(order, reinterpret_cast<std::uint32_t*>(positions->mutable_data()),
                         [](auto const& entry) { return entry.second; });
  order = {};
  return take_rows(*rows, std::move(positions), rows->num_rows());
}

SortedRuns::SortedRuns(std::shared_ptr<arrow::Schema> schema, OrderColumns columns, std::uint64_t limit_bytes,
                       TemporaryFolder const& folder, Control const& control, run::RunRecorder& recorder)
    : schema_(std::move(schema)),
      columns_(columns),
      fan_in_(std::clamp(static_cast<std::size_t>(limit_bytes / kCopies / kLeastBatchBytes), kLeastFanIn, kMostFanIn)),
      batch_bytes_(limit_bytes / kCopies / fan_in_),
      folder_(&folder),
      control_(&control),
      recorder_(&recorder) {}

Result<void> SortedRuns::add(BatchPtr const& batch) {
  if (batch->num_rows() == 0) return {};
  if (control_->is_cancelled()) return fail(ErrorCode::cancelled, "interrupted while spilling");
  run::PhaseTimer const timer(*recorder_, "spill sorted", 0, static_cast<std::uint64_t>(batch->num_rows()));
  if (run_ && columns_.order_of(*batch, 0) < last_) GARUDA_TRY(end_run());
  if (!run_) run_.emplace(*folder_, schema_);
  last_ = columns_.order_of(*batch, batch->num_rows() - 1);
  return write(*batch);
}

Result<void> SortedRuns::write(arrow::RecordBatch const& batch) {
  GARUDA_TRY_ASSIGN(auto const volume, volume_of(batch));
  auto const pieces = static_cast<std::int64_t>(volume.bytes / std::max<std::uint64_t>(batch_bytes_, 1)) + 1;
  auto const rows = (batch.num_rows() + pieces - 1) / pieces;
  for (std::int64_t begin = 0; begin < batch.num_rows(); begin += rows)
    GARUDA_TRY(run_->write(*batch.Slice(begin, rows)));
  return {};
}

Result<void> SortedRuns::end_run() {
  auto run = *std::exchange(run_, std::nullopt);
  GARUDA_TRY(run.finish());
  recorder_->add_counter("sorted_runs", 1);
  recorder_->add_counter("sorted_bytes", run.file_bytes());
  return push(std::move(run), 0);
}

/// Adds a run. As many runs as are merged at once are left for the end, which saves a pass.
Result<void> SortedRuns::push(SpillFile run, std::size_t level) {
  if (levels_.size() <= level) levels_.resize(level + 1);
  std::vector<SpillFile> full;
  if (levels_[level].size() == fan_in_) full = std::exchange(levels_[level], {});
  levels_[level].push_back(std::move(run));
  if (full.empty()) return {};
  GARUDA_TRY_ASSIGN(auto merged, merge(std::move(full)));
  return push(std::move(merged), level + 1);
}

Result<SpillFile> SortedRuns::merge(std::vector<SpillFile> runs) {
  run::PhaseTimer const timer(*recorder_, "merge sorted");
  GARUDA_TRY_ASSIGN(auto merger, RunMerger::open(std::move(runs), columns_));
  run_.emplace(*folder_, schema_);
  while (true) {
    if (control_->is_cancelled()) return fail(ErrorCode::cancelled, "interrupted while sorted runs were merged");
    GARUDA_TRY_ASSIGN(auto const batch, merger.next());
    if (batch == nullptr) break;
    GARUDA_TRY(write(*batch));
  }
  auto merged = *std::exchange(run_, std::nullopt);
  GARUDA_TRY(merged.finish());
  recorder_->add_counter("sorted_bytes", merged.file_bytes());
  return merged;
}

Result<void> SortedRuns::finish() {
  if (run_) GARUDA_TRY(end_run());
  std::vector<SpillFile> runs;
  for (auto& level : levels_) std::ranges::move(level, std::back_inserter(runs));
  levels_.clear();
  while (runs.size() > fan_in_) {
    // The shortest come first.
    auto const end = runs.begin() + static_cast<std::ptrdiff_t>(std::min(fan_in_, runs.size() - fan_in_ + 1));
    std::vector<SpillFile> merged(std::make_move_iterator(runs.begin()), std::make_move_iterator(end));
    runs.erase(runs.begin(), end);
    GARUDA_TRY_ASSIGN(auto run, merge(std::move(merged)));
    runs.push_back(std::move(run));
  }
  GARUDA_TRY_ASSIGN(merger_, RunMerger::open(std::move(runs), columns_));
  return {};
}

Result<BatchPtr> SortedRuns::next() {
  if (control_->is_cancelled()) return fail(ErrorCode::cancelled, "interrupted while sorted runs were merged");
  run::PhaseTimer const timer(*recorder_, "merge sorted");
  return merger_->next();
}

Result<void> OrderedBatches::add(Schema const& schema, Batch batch) {
  GARUDA_TRY_ASSIGN(auto rows, io::to_arrow_batch(schema, std::move(batch)));
  rows = storable(*rows);
  if (!dictionaries_) {
    GARUDA_TRY_ASSIGN(dictionaries_, DictionaryColumns::create(rows->schema(), kOrderSentence));
    runs_.emplace(dictionaries_->spilled_schema(), columns_, limit_bytes_, folder_, control_, recorder_);
  }
  GARUDA_TRY_ASSIGN(rows, dictionaries_->detach(std::move(rows)));
  return runs_->add(rows);
}

Result<void> OrderedBatches::take_all(Schema const& schema, std::function<Result<std::optional<Batch>>()> const& next) {
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, next());
    if (!batch) break;
    GARUDA_TRY(add(schema, *std::move(batch)));
  }
  if (!dictionaries_) return {};
  GARUDA_TRY(dictionaries_->finish());
  GARUDA_TRY((MemoryShare{limit_bytes_, 0}.keep_dictionaries("the result", dictionaries_->bytes())));
  return runs_->finish();
}

Result<std::optional<Batch>> OrderedBatches::next() {
  if (!dictionaries_) return std::nullopt;
  GARUDA_TRY_ASSIGN(auto rows, runs_->next());
  if (rows == nullptr) return std::nullopt;
  GARUDA_TRY_ASSIGN(rows, dictionaries_->attach(std::move(rows)));
  if (columns_.second) {
    GARUDA_ARROW_TRY_ASSIGN(rows, rows->RemoveColumn(*columns_.second), ErrorCode::invalid_input, kOrderSentence);
  }
  // The first column stands before the second one.
  GARUDA_ARROW_TRY_ASSIGN(rows, rows->RemoveColumn(columns_.first), ErrorCode::invalid_input, kOrderSentence);
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(rows->schema(), {rows}));
  return Batch(table.batches().front());
}

}  // namespace garuda::spill
