#include "io/table_stream.hpp"

#include <algorithm>
#include <utility>

#include "io/file_columns.hpp"
#include "io/file_dictionaries.hpp"

namespace garuda::io {

TableStream::TableStream() : dictionaries_(std::make_unique<FileDictionaries>()) {}
TableStream::TableStream(TableStream&&) noexcept = default;
TableStream& TableStream::operator=(TableStream&&) noexcept = default;
TableStream::~TableStream() = default;

Result<TableStream> TableStream::open(std::filesystem::path const& path, ReadOptions const& options,
                                      std::int64_t batch_rows) {
  GARUDA_EXPECTS(batch_rows > 0 && (!options.columns || !options.columns->empty()));
  TableStream stream;
  stream.sentence_ = "cannot read " + path.string();
  GARUDA_TRY_ASSIGN(stream.reader_, open_reader(path));
  auto const& file_schema = *stream.reader_->schema();
  auto const columns = chosen_columns(file_schema, options);
  if (!columns) return tl::unexpected(Error(columns.error()).wrap(path.string()));
  // Before anything is decoded.
  GARUDA_TRY(check_types(*select(file_schema, *columns), stream.sentence_));
  GARUDA_TRY_ASSIGN(stream.cursor_, stream.reader_->stream(*columns, options, batch_rows));
  std::vector<int> all(columns->size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  stream.schema_ = select(*stream.cursor_->schema(), all);
  return stream;
}

Result<std::shared_ptr<arrow::RecordBatch>> TableStream::next() {
  GARUDA_TRY_ASSIGN(auto const batch, cursor_->next());
  if (batch == nullptr) {
    at_end_ = true;
    return nullptr;
  }
  auto const plain = plain_batch(*batch);
  // Files come from anywhere, and what follows trusts offsets and indices.
  GARUDA_ARROW_TRY(dictionaries_->validate({plain}, 1), ErrorCode::invalid_input, sentence_);
  GARUDA_ARROW_TRY_ASSIGN(auto const batches, dictionaries_->without_null_values({plain}), ErrorCode::invalid_input,
                          sentence_);
  return batches.front();
}

double TableStream::fraction_read() const noexcept {
  return at_end_ ? 1.0 : std::clamp(cursor_->fraction_read(), 0.0, 1.0);
}

}  // namespace garuda::io
