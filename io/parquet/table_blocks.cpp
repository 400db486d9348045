#include "io/parquet/table_blocks.hpp"

#include <utility>

#include "io/file_format.hpp"

namespace garuda::io {

Result<std::optional<TableBlocks>> TableBlocks::open(TableFiles const& files, ReadOptions const& options,
                                                     std::int64_t block_rows) {
  GARUDA_EXPECTS(!files.files.empty() && block_rows >= 1);
  auto const& path = files.files.front().path;
  if (!files.is_one() || format_of(path) != FileFormat::parquet) return std::nullopt;
  GARUDA_TRY_ASSIGN(auto file, choose_columns(path, options));
  auto const row_groups = file.reader->row_groups()->rows();
  TableBlocks blocks(std::move(file), options);
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < row_groups.size(); ++i) {
    rows += row_groups[i];
    blocks.num_rows_ += static_cast<std::uint64_t>(row_groups[i]);
    if (rows < block_rows) continue;
    blocks.ends_.push_back(static_cast<int>(i) + 1);
    rows = 0;
  }
  if (rows > 0) blocks.ends_.push_back(static_cast<int>(row_groups.size()));
  return blocks;
}

std::optional<std::uint64_t> TableBlocks::estimated_values(std::string const& column) const {
  auto const position = file_.reader->schema()->GetFieldIndex(column);
  if (position < 0) return std::nullopt;
  return file_.reader->row_groups()->estimated_values(position);
}

Result<ArrowBatches> TableBlocks::read(std::size_t block, std::uint32_t threads) const {
  GARUDA_EXPECTS(block < ends_.size());
  auto options = options_;
  options.threads = threads;
  auto const first = block == 0 ? 0 : ends_[block - 1];
  GARUDA_TRY_ASSIGN(auto batches, file_.reader->row_groups()->read(file_.columns, options, first, ends_[block]));
  if (block == 0 && options.bytes_read != nullptr)
    *options.bytes_read += file_.reader->bytes_of(file_.columns, options);
  GARUDA_TRY_ASSIGN(auto rows, checked_rows(file_, std::move(batches), options));
  return std::move(rows.batches);
}

}  // namespace garuda::io
