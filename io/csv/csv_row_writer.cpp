// CSV: blocks of rows become text side by side, and are written in their order.
#include <arrow/compute/cast.h>
#include <arrow/io/memory.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <memory>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "io/arrow_bridge.hpp"
#include "io/columns/stored_types.hpp"
#include "io/row_writer.hpp"

namespace garuda::io {
namespace {

/// Returns large_utf8 for utf8_view, large_binary for binary_view, any other type as it is. Large, because the values
/// of one batch of views may exceed what 32-bit offsets reach.
std::shared_ptr<arrow::DataType> offset_layout(std::shared_ptr<arrow::DataType> const& type) {
  switch (type->id()) {
    case arrow::Type::STRING_VIEW:
      return arrow::large_utf8();
    case arrow::Type::BINARY_VIEW:
      return arrow::large_binary();
    default:
      return type;
  }
}

/// Returns `batches` with each column in its offset layout; columns without views are shared, not copied.
/// Requires: the batches have passed arrow::RecordBatch::ValidateFull. Errors: out of memory.
arrow::Result<ArrowBatches> to_offset_layout(ArrowBatches batches) {
  auto context = single_threaded();
  for (auto& batch : batches) {
    for (int i = 0; i < batch->num_columns(); ++i) {
      auto const& field = batch->schema()->field(i);
      auto const type = offset_layout(field->type());
      if (type == field->type()) continue;
      ARROW_ASSIGN_OR_RAISE(auto const values, arrow::compute::Cast(*batch->column(i), type,
                                                                    arrow::compute::CastOptions::Safe(), &context));
      ARROW_ASSIGN_OR_RAISE(batch, batch->SetColumn(i, field->WithType(type), values));
    }
  }
  return batches;
}

/// Rows of one block, whose text fits a cache.
constexpr std::int64_t kBlockRows = 1 << 12;

arrow::csv::WriteOptions write_options(bool with_header) {
  auto options = arrow::csv::WriteOptions::Defaults();
  options.io_context = arrow::io::IOContext(memory_pool());
  options.include_header = with_header;
  options.batch_size = kBlockRows;
  return options;
}

/// Arrow writes no views as text.
std::shared_ptr<arrow::Schema> text_schema(arrow::Schema const& schema) {
  arrow::FieldVector fields;
  for (auto const& field : schema.fields()) fields.push_back(field->WithType(offset_layout(field->type())));
  return arrow::schema(std::move(fields));
}

arrow::Result<std::shared_ptr<arrow::Buffer>> to_text(std::shared_ptr<arrow::RecordBatch> const& rows) {
  ARROW_ASSIGN_OR_RAISE(auto const decoded, decoded_batch(rows, 1));
  ARROW_ASSIGN_OR_RAISE(auto const batches, to_offset_layout({decoded}));
  ARROW_ASSIGN_OR_RAISE(auto const text, arrow::io::BufferOutputStream::Create(1 << 12, memory_pool()));
  ARROW_RETURN_NOT_OK(arrow::csv::WriteCSV(*batches.front(), write_options(false), text.get()));
  return text->Finish();
}

class CsvRowWriter final : public RowWriter {
 public:
  CsvRowWriter(OutputStream sink, std::uint32_t threads) : sink_(std::move(sink)), arena_(arena_threads(threads)) {}

  arrow::Status write(std::shared_ptr<arrow::RecordBatch> const& batch) override {
    // As many blocks as keep all threads busy: text takes more memory than what it is made of.
    auto const step = kBlockRows * arena_.max_concurrency() * 4;
    for (std::int64_t first = 0; first < batch->num_rows(); first += step)
      ARROW_RETURN_NOT_OK(write_blocks(*batch->Slice(first, step)));
    return arrow::Status::OK();
  }

  arrow::Status finish() override { return arrow::Status::OK(); }

 private:
  arrow::Status write_blocks(arrow::RecordBatch const& rows) {
    auto const count = static_cast<std::size_t>((rows.num_rows() + kBlockRows - 1) / kBlockRows);
    std::vector<arrow::Result<std::shared_ptr<arrow::Buffer>>> texts(count);
    arena_.execute([&] {
      tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
        texts[i] = to_text(rows.Slice(static_cast<std::int64_t>(i) * kBlockRows, kBlockRows));
      });
    });
    for (auto const& text : texts) {
      ARROW_RETURN_NOT_OK(text.status());
      ARROW_RETURN_NOT_OK(sink_->Write(*text));
    }
    return arrow::Status::OK();
  }

  OutputStream sink_;
  tbb::task_arena arena_;
};

}  // namespace

arrow::Result<std::unique_ptr<RowWriter>> make_csv_writer(std::shared_ptr<arrow::Schema> const& schema,
                                                          OutputStream sink, RowWriterOptions const& options) {
  // Writes the header, and knows which types text can hold.
  ARROW_ASSIGN_OR_RAISE(auto const header,
                        arrow::csv::MakeCSVWriter(sink, text_schema(*decoded_schema(*schema)), write_options(true)));
  ARROW_RETURN_NOT_OK(header->Close());
  return std::make_unique<CsvRowWriter>(std::move(sink), options.threads);
}

}  // namespace garuda::io
