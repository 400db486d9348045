#include "spill/row_partitioner.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <arrow/compute/api_vector.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/numbering/mix.hpp"
#include "operators/materialize/gather.hpp"

namespace garuda::spill {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

/// A batch with its rows in the order of their partitions.
struct PartitionedBatch {
  BatchPtr rows;
  std::vector<std::int64_t> offsets;  ///< of each partition, then the number of rows
};

/// One hash a row, of the key columns of `batch`; the rows that are to be left out are marked in `dropped`.
Result<std::vector<std::uint64_t>> hash_keys(arrow::RecordBatch const& batch, SplitRequest const& request,
                                             std::vector<bool>* dropped) {
  GARUDA_ARROW_TRY_ASSIGN(auto const keys, batch.SelectColumns(request.keys), ErrorCode::invalid_input,
                          "cannot select the keys");
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(keys->schema(), {keys}));
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(batch.num_rows()), 0);
  std::vector<std::uint64_t> of_column(hashes.size());
  for (std::size_t c = 0; c < table.schema().size(); ++c) {
    auto const& column = table.batches().front().columns[c];
    if (auto const* const of_values = request.dictionaries.hashes(request.keys[c]))
      for (std::size_t i = 0; i < hashes.size(); ++i)
        of_column[i] = column.is_null(static_cast<std::int64_t>(i))
                           ? keys::kNullHash
                           : (*of_values)[static_cast<std::size_t>(column.data<std::int32_t>()[i])];
    else
      GARUDA_TRY(keys::hash_key_column(table.view(), c, request.key_types[c], of_column));
    for (std::size_t i = 0; i < hashes.size(); ++i) hashes[i] = keys::add_key_hash(hashes[i], of_column[i]);
    if (!request.drop_null_keys || column.validity == nullptr) continue;
    dropped->resize(hashes.size(), false);
    for (std::size_t i = 0; i < hashes.size(); ++i)
      if (column.is_null(static_cast<std::int64_t>(i))) (*dropped)[i] = true;
  }
  return hashes;
}

Result<PartitionedBatch> partition_batch(BatchPtr const& batch, SplitRequest const& request) {
  std::vector<bool> dropped;
  GARUDA_TRY_ASSIGN(auto const hashes, hash_keys(*batch, request, &dropped));
  auto const partitions = std::size_t{1} << request.bits;
  std::vector<std::uint8_t> digits(hashes.size());
  static_assert(kMostBits <= 8);
  std::vector<std::int64_t> offsets(partitions + 1, 0);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (!dropped.empty() && dropped[i]) continue;
    digits[i] = static_cast<std::uint8_t>(keys::spill_partition(hashes[i], request.level, request.bits));
    ++offsets[digits[i] + std::size_t{1}];
  }
  for (std::size_t p = 0; p < partitions; ++p) offsets[p + 1] += offsets[p];
  auto const count = offsets.back();
  GARUDA_ARROW_TRY_ASSIGN(std::shared_ptr<arrow::Buffer> indices,
                          arrow::AllocateBuffer(count * std::int64_t{sizeof(std::uint32_t)}, io::memory_pool()),
                          ErrorCode::out_of_memory, "cannot split a batch");
  auto* const to = reinterpret_cast<std::uint32_t*>(indices->mutable_data());
  auto at = offsets;
  for (std::size_t i = 0; i < hashes.size(); ++i)
    if (dropped.empty() || !dropped[i]) to[at[digits[i]]++] = static_cast<std::uint32_t>(i);
  GARUDA_TRY_ASSIGN(auto rows, take_rows(*batch, std::move(indices), count));
  return PartitionedBatch{std::move(rows), std::move(offsets)};
}

/// Rows of one partition, of all batches of a window.
Result<BatchPtr> concatenate_partition(std::vector<PartitionedBatch> const& window, std::size_t partition) {
  io::ArrowBatches pieces;
  for (auto const& batch : window) {
    auto const begin = batch.offsets[partition];
    pieces.push_back(batch.rows->Slice(begin, batch.offsets[partition + 1] - begin));
  }
  GARUDA_ARROW_TRY_ASSIGN(auto rows, arrow::ConcatenateRecordBatches(pieces, io::memory_pool()), ErrorCode::output,
                          "cannot bring the rows of a partition together");
  return rows;
}

/// Runs work(i) for all i < count on the arena's threads; returns the first failure.
template <class Work>
Result<void> for_all(tbb::task_arena& arena, std::size_t count, Work const& work) {
  std::vector<Result<void>> results(count);
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) { results[i] = work(i); }); });
  for (auto& result : results) GARUDA_TRY(std::move(result));
  return {};
}

/// Splits the batches of a window and writes each partition's rows as one batch.
Result<void> write_window(std::vector<BatchPtr> batches, SplitRequest const& request, tbb::task_arena& arena,
                          std::vector<SpillFile>& files) {
  std::vector<PartitionedBatch> window(batches.size());
  GARUDA_TRY(for_all(arena, batches.size(), [&](std::size_t i) -> Result<void> {
    auto const batch = std::exchange(batches[i], nullptr);  // its memory goes as soon as it is split
    GARUDA_TRY_ASSIGN(window[i], partition_batch(batch, request));
    return {};
  }));
  return for_all(arena, files.size(), [&](std::size_t p) -> Result<void> {
    GARUDA_TRY_ASSIGN(auto const rows, concatenate_partition(window, p));
    return files[p].write(*rows);
  });
}

/// Views and runs, which Arrow does not take rows of.
bool is_gathered(arrow::DataType const& type) {
  if (type.id() == arrow::Type::STRING_VIEW || type.id() == arrow::Type::BINARY_VIEW ||
      type.id() == arrow::Type::RUN_END_ENCODED)
    return true;
  return std::ranges::any_of(type.fields(), [](auto const& field) { return is_gathered(*field->type()); });
}

Result<std::shared_ptr<arrow::Array>> gather_column(arrow::RecordBatch const& batch, int column,
                                                    std::span<std::uint32_t const> rows) {
  GARUDA_ARROW_TRY_ASSIGN(auto const alone, batch.SelectColumns({column}), ErrorCode::invalid_input,
                          "cannot select a column");
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(alone->schema(), {alone}));
  std::array<std::size_t, 1> const all{0};
  GARUDA_TRY_ASSIGN(auto const gatherer, Gatherer::create(table.view(), all));
  GARUDA_TRY_ASSIGN(auto gathered, gatherer.gather(rows));
  GARUDA_EXPECTS(std::cmp_equal(gathered.rows_taken, rows.size()));
  GARUDA_TRY_ASSIGN(auto const taken, io::to_arrow_batch(gatherer.schema(), std::move(gathered.batch)));
  return taken->column(0);
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> take_rows(arrow::RecordBatch const& batch,
                                                      std::shared_ptr<arrow::Buffer> indices, std::int64_t count) {
  std::span const positions(reinterpret_cast<std::uint32_t const*>(indices->data()), static_cast<std::size_t>(count));
  auto const rows = std::make_shared<arrow::UInt32Array>(count, std::move(indices));
  auto context = io::single_threaded();
  arrow::ArrayVector columns;
  for (int c = 0; c < batch.num_columns(); ++c) {
    if (is_gathered(*batch.column(c)->type())) {
      GARUDA_TRY_ASSIGN(auto column, gather_column(batch, c, positions));
      columns.push_back(std::move(column));
      continue;
    }
    GARUDA_ARROW_TRY_ASSIGN(
        auto const column,
        arrow::compute::Take(batch.column(c), rows, arrow::compute::TakeOptions::NoBoundsCheck(), &context),
        ErrorCode::invalid_input, "cannot take rows of a batch");
    columns.push_back(column.make_array());
  }
  return arrow::RecordBatch::Make(batch.schema(), count, std::move(columns));
}

Result<std::vector<SpillFile>> RowSplitter::split(NextBatch const& next, SplitRequest const& request,
                                                  RowVolume const& volume) const {
  GARUDA_EXPECTS(request.bits <= kMostBits);
  auto const& control = options.control;
  run::PhaseTimer timer(recorder, "spill");
  tbb::task_arena arena(arena_threads(options.threads));
  auto const window_bytes = share.window_bytes(volume);
  std::vector<SpillFile> files;
  for (std::size_t p = 0; p < std::size_t{1} << request.bits; ++p)
    files.emplace_back(folder, request.dictionaries.spilled_schema());
  std::uint64_t rows = 0;
  while (true) {
    std::vector<BatchPtr> window;
    RowVolume held;
    while (held.bytes < window_bytes || window.empty()) {
      GARUDA_TRY_ASSIGN(auto batch, next());
      if (batch == nullptr) break;
      GARUDA_TRY_ASSIGN(auto const of_batch, volume_of(*batch));
      held += of_batch;
      window.push_back(std::move(batch));
    }
    if (window.empty()) break;
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "interrupted while spilling");
    GARUDA_TRY(write_window(std::move(window), request, arena, files));
    rows += held.rows;
    if (control.on_progress) control.on_progress({"spill", rows, std::max(rows, volume.rows), 0});
  }
  GARUDA_TRY(for_all(arena, files.size(), [&](std::size_t p) { return files[p].finish(); }));
  std::uint64_t bytes = 0;
  for (auto const& file : files) bytes += file.file_bytes();
  timer.count(bytes, rows);
  recorder.add_counter("spilled_bytes", bytes);
  recorder.add_counter("spilled_rows", rows);
  recorder.max_counter("spill_levels", request.level + 1);
  return files;
}

}  // namespace garuda::spill
