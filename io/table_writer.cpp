#include "io/table_writer.hpp"

#include <optional>
#include <utility>

#include "io/row_writer.hpp"

namespace garuda::io {

namespace {

/// Refusals of the operating system are the output's fault; all else that a writer refuses are types and values that
/// the format cannot hold, and those came with the input.
tl::unexpected<Error> unwritten(arrow::Status const& status, std::string const& sentence) {
  bool const system_failed = arrow::internal::ErrnoFromStatus(status) != 0;
  return tl::unexpected(to_error(status, system_failed ? ErrorCode::output : ErrorCode::invalid_input, sentence));
}

decltype(&make_csv_writer) writer_of(FileFormat format) {
  if (format == FileFormat::parquet) return make_parquet_writer;
  return format == FileFormat::ipc ? make_ipc_writer : make_csv_writer;
}

}  // namespace

struct TableWriter::State {
  Schema schema;
  std::shared_ptr<arrow::Schema> arrow_schema;
  os::OutputFile file;
  std::string sentence;
  std::shared_ptr<arrow::io::FileOutputStream> sink;
  std::unique_ptr<RowWriter> rows;

  State(Schema schema_of_rows, std::shared_ptr<arrow::Schema> of_arrow, os::OutputFile output)
      : schema(std::move(schema_of_rows)),
        arrow_schema(std::move(of_arrow)),
        file(std::move(output)),
        sentence("cannot write " + file.path().string()) {}
};

void TableWriter::prepare(std::filesystem::path const& path) {
  auto const format = output_format_of(path);
  if (!format) return;
  auto const compression = compression_for(*format, std::nullopt);
  auto const values = arrow::MakeArrayOfNull(arrow::int64(), 1, memory_pool());
  if (!compression || !values.ok()) return;
  auto const row = arrow::RecordBatch::Make(arrow::schema({arrow::field("", arrow::int64())}), 1, {*values});
  RowWriterOptions options;
  options.row_group_rows = 1;
  options.row_group_bytes = 1;
  options.writes_behind = false;
  options.threads = 1;
  options.compression = *compression;
  auto const writer = writer_of(*format)(row->schema(), std::make_shared<arrow::io::MockOutputStream>(), options);
  if (writer.ok() && (*writer)->write(row).ok()) (void)(*writer)->finish();
}

Result<TableWriter> TableWriter::open(std::filesystem::path const& path, Schema const& schema,
                                      WriteOptions const& options) {
  GARUDA_TRY(output_format_of(path));
  GARUDA_TRY_ASSIGN(auto file, os::OutputFile::create(path));
  return open(std::move(file), schema, options);
}

Result<TableWriter> TableWriter::open(os::OutputFile file, Schema const& schema, WriteOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const format, output_format_of(file.path()));
  GARUDA_TRY_ASSIGN(auto const compression, compression_for(format, options.compression));
  GARUDA_TRY_ASSIGN(auto const arrow_schema, to_arrow_schema(schema));
  auto state = std::make_unique<State>(schema, arrow_schema, std::move(file));
  GARUDA_TRY_ASSIGN(int const descriptor, state->file.open());
  GARUDA_ARROW_TRY_ASSIGN(state->sink, arrow::io::FileOutputStream::Open(descriptor), ErrorCode::output,
                          state->sentence);
  auto rows = writer_of(format)(arrow_schema, state->sink,
                                {options.row_group_rows, options.row_group_bytes, options.writes_behind,
                                 options.threads, compression, options.packs_integers});
  if (!rows.ok()) return unwritten(rows.status(), state->sentence);
  state->rows = *std::move(rows);
  return TableWriter(std::move(state));
}

TableWriter::TableWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TableWriter::TableWriter(TableWriter&&) noexcept = default;
TableWriter& TableWriter::operator=(TableWriter&&) noexcept = default;
TableWriter::~TableWriter() = default;

Result<void> TableWriter::write(Batch batch) {
  GARUDA_EXPECTS(state_ != nullptr);
  if (batch.num_rows == 0) return {};
  GARUDA_TRY_ASSIGN(auto const rows, to_arrow_batch(state_->schema, std::move(batch)));
  // With the file's own schema, which Arrow need not compare: it takes what memory cuts short for a difference.
  auto const& schema = state_->arrow_schema;
  auto const written = state_->rows->write(arrow::RecordBatch::Make(schema, rows->num_rows(), rows->columns()));
  if (!written.ok()) return unwritten(written, state_->sentence);
  return {};
}

Result<std::uint64_t> TableWriter::finish() {
  GARUDA_EXPECTS(state_ != nullptr);
  auto& state = *state_;
  auto const finished = state.rows->finish();
  if (!finished.ok()) return unwritten(finished, state.sentence);
  GARUDA_ARROW_TRY_ASSIGN(auto const bytes, state.sink->Tell(), ErrorCode::output, state.sentence);
  if (auto const failed = state.file.syncs() ? os::sync_file(state.sink->file_descriptor()) : 0; failed != 0)
    return tl::unexpected(Error(ErrorCode::output, os::system_message(failed)).wrap(state.sentence));
  GARUDA_ARROW_TRY(state.sink->Close(), ErrorCode::output, state.sentence);
  return static_cast<std::uint64_t>(bytes);
}

Result<void> TableWriter::commit() {
  GARUDA_EXPECTS(state_ != nullptr);
  return std::exchange(state_, nullptr)->file.commit();
}

}  // namespace garuda::io
