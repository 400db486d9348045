#include "io/parquet/table_blocks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/task_threads.hpp"
#include "io/columns/file_rows.hpp"
#include "io/file_format.hpp"

namespace garuda::io {
namespace {

/// Files that are open side by side; processes may have a thousand.
constexpr std::size_t kMostFiles = 256;

bool may_be_blocks(TableFiles const& files) {
  return files.files.size() <= kMostFiles && std::ranges::all_of(files.files, [](TableFile const& file) {
           return file.keys.empty() && format_of(file.path) == FileFormat::parquet;
         });
}

bool has_rows(ChosenColumns const& file) {
  return std::ranges::any_of(file.reader->row_groups()->rows(), [](std::int64_t rows) { return rows > 0; });
}

}  // namespace

Result<std::optional<TableBlocks>> TableBlocks::open(TableFiles const& files, ReadOptions const& options,
                                                     std::int64_t block_rows) {
  GARUDA_EXPECTS(!files.files.empty() && block_rows >= 1);
  if (!may_be_blocks(files)) return std::nullopt;
  std::vector<ChosenColumns> chosen;
  for (auto const& file : files.files) {
    GARUDA_TRY_ASSIGN(auto columns, choose_columns(file.path, options));
    if (chosen.empty()) {
      chosen.push_back(std::move(columns));
      continue;
    }
    auto const& first = chosen.front();
    // Other reading says in what the files differ.
    if (!columns.schema->Equals(*first.schema, false)) return std::nullopt;
    if (!check_all_columns(*first.reader->schema(), files.files.front().path, *columns.reader->schema(), file.path))
      return std::nullopt;
    // A file without rows does not say how it would have stored them.
    if (!has_rows(chosen.back())) chosen.pop_back();
    if (has_rows(columns) || chosen.empty()) chosen.push_back(std::move(columns));
  }
  TableBlocks blocks(std::move(chosen), options);
  blocks.store_alike();
  for (std::size_t f = 0; f < blocks.files_.size(); ++f) {
    auto const row_groups = blocks.files_[f].reader->row_groups()->rows();
    Block block{f, 0, 0, 0};
    std::int64_t rows = 0;
    for (auto const more : row_groups) {
      ++block.end;
      rows += more;
      blocks.num_rows_ += static_cast<std::uint64_t>(more);
      if (rows < block_rows && block.end < static_cast<int>(row_groups.size())) continue;
      block.rows = static_cast<std::uint64_t>(rows);
      if (rows > 0) blocks.blocks_.push_back(block);
      block.first = block.end;
      rows = 0;
    }
  }
  return blocks;
}

void TableBlocks::store_alike() {
  auto const& first = files_.front();
  for (std::size_t c = 0; c < first.columns.size(); ++c) {
    auto const type_in = [&](ChosenColumns const& file) {
      return file.reader->row_groups()->type_as_read(file.columns[c], options_);
    };
    auto const type = type_in(first);
    if (!std::ranges::all_of(files_, [&](ChosenColumns const& file) { return type_in(file)->Equals(*type); }))
      options_.plain_columns.push_back(first.schema->field(static_cast<int>(c))->name());
  }
}

std::uint64_t TableBlocks::most_rows_of_block() const noexcept {
  std::uint64_t most = 0;
  for (auto const& block : blocks_) most = std::max(most, block.rows);
  return most;
}

std::optional<std::uint64_t> TableBlocks::estimated_values(std::string const& column) const {
  std::uint64_t most = 0;
  for (auto const& file : files_) {
    auto const position = file.reader->schema()->GetFieldIndex(column);
    if (position < 0) return std::nullopt;
    auto const values = file.reader->row_groups()->estimated_values(position);
    if (!values) return std::nullopt;
    most = std::max(most, *values);
  }
  return most;
}

Result<ArrowBatches> TableBlocks::read(std::size_t first, std::size_t end, std::uint32_t threads) const {
  GARUDA_EXPECTS(first < end && end <= blocks_.size());
  std::vector<Block> of_files;
  for (auto b = first; b < end; ++b) {
    bool const goes_on = !of_files.empty() && of_files.back().file == blocks_[b].file;
    if (goes_on)
      of_files.back().end = blocks_[b].end;
    else
      of_files.push_back(blocks_[b]);
  }
  if (of_files.size() == 1) return read_of_file(of_files.front(), threads);
  GARUDA_TRY_ASSIGN(auto parts, task_values(of_files.size(), threads, false,
                                            [&](std::size_t i) { return read_of_file(of_files[i], threads); }));
  ArrowBatches batches;
  for (auto& part : parts) std::ranges::move(part, std::back_inserter(batches));
  return batches;
}

/// The row groups of one file.
Result<ArrowBatches> TableBlocks::read_of_file(Block const& rows, std::uint32_t threads) const {
  auto options = options_;
  options.threads = threads;
  auto const& chosen = files_[rows.file];
  GARUDA_TRY_ASSIGN(auto batches, chosen.reader->row_groups()->read(chosen.columns, options, rows.first, rows.end));
  if (rows.first == 0 && options.bytes_read != nullptr)
    *options.bytes_read += chosen.reader->share_of(chosen.columns, options).bytes;
  GARUDA_TRY_ASSIGN(auto checked, checked_rows(chosen, std::move(batches), options));
  return std::move(checked.batches);
}

}  // namespace garuda::io
