#include "spill/spill_file.hpp"

#include <arrow/array/builder_binary.h>
#include <arrow/builder.h>
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "io/own_unions.hpp"

namespace garuda::spill {
namespace {

// Views of strings and binary refer to whole buffers, most of which may be other rows' values.

bool has_views(arrow::Array const& array) {
  return array.type_id() == arrow::Type::STRING_VIEW || array.type_id() == arrow::Type::BINARY_VIEW;
}

/// Bytes of the buffers that views refer to.
std::int64_t referred_bytes(arrow::Array const& array) {
  constexpr std::size_t kFirstOfValues = 2;
  std::int64_t bytes = 0;
  auto const& buffers = array.data()->buffers;
  for (auto b = kFirstOfValues; b < buffers.size(); ++b) bytes += buffers[b]->size();
  return bytes;
}

arrow::Result<std::shared_ptr<arrow::Array>> copied(arrow::BinaryViewArray const& views, std::int64_t bytes) {
  constexpr std::int64_t kMostBlockBytes = 1 << 20;
  ARROW_ASSIGN_OR_RAISE(auto const builder, arrow::MakeBuilder(views.type(), io::memory_pool()));
  auto& own = static_cast<arrow::BinaryViewBuilder&>(*builder);
  own.SetBlockSize(std::clamp<std::int64_t>(bytes, 1, kMostBlockBytes));
  ARROW_RETURN_NOT_OK(own.Reserve(views.length()));
  for (std::int64_t i = 0; i < views.length(); ++i)
    ARROW_RETURN_NOT_OK(views.IsNull(i) ? own.AppendNull() : own.Append(views.GetView(i)));
  return own.Finish();
}

/// Bytes of an array's views and of the values that they refer to; nullopt: it has no views.
std::optional<std::int64_t> view_bytes(arrow::Array const& array) {
  if (!has_views(array)) return std::nullopt;
  auto const& views = static_cast<arrow::BinaryViewArray const&>(array);
  auto bytes = views.length() * std::int64_t{sizeof(arrow::BinaryViewType::c_type)};
  for (std::int64_t i = 0; i < views.length(); ++i) {
    auto const length = views.IsNull(i) ? 0 : static_cast<std::int64_t>(views.GetView(i).size());
    if (length > arrow::BinaryViewType::kInlineSize) bytes += length;
  }
  return bytes;
}

/// Returns `batch` with copies of the values that its columns of views refer to, where the buffers that these are in
/// hold over twice as much.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> with_own_views(std::shared_ptr<arrow::RecordBatch> batch) {
  for (int c = 0; c < batch->num_columns(); ++c) {
    auto const& column = *batch->column(c);
    auto const bytes = view_bytes(column);
    if (!bytes || referred_bytes(column) <= 2 * *bytes) continue;
    ARROW_ASSIGN_OR_RAISE(auto own, copied(static_cast<arrow::BinaryViewArray const&>(column), *bytes));
    ARROW_ASSIGN_OR_RAISE(batch, batch->SetColumn(c, batch->schema()->field(c), std::move(own)));
  }
  return batch;
}

Error spill_error(arrow::Status const& status, TemporaryFolder const& folder) {
  return io::to_error(status, ErrorCode::output, folder.sentence());
}

arrow::Result<std::shared_ptr<arrow::ipc::RecordBatchFileReader>> open_file(int descriptor) {
  ARROW_ASSIGN_OR_RAISE(auto const file, arrow::io::ReadableFile::Open(descriptor, io::memory_pool()));
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = io::memory_pool();
  options.use_threads = false;  // nothing is compressed, so there is nothing to decode
  return arrow::ipc::RecordBatchFileReader::Open(file, options);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> read_batch(arrow::ipc::RecordBatchFileReader& reader, int index) {
  ARROW_ASSIGN_OR_RAISE(auto batch, reader.ReadRecordBatch(index));
  ARROW_RETURN_NOT_OK(batch->Validate());
  return batch;
}

}  // namespace

Result<RowVolume> volume_of(arrow::RecordBatch const& batch) {
  constexpr auto kSentence = "cannot tell the size of a batch";
  std::int64_t bytes = 0;
  for (int c = 0; c < batch.num_columns(); ++c) {
    if (auto const of_views = view_bytes(*batch.column(c))) {
      bytes += *of_views;
      continue;
    }
    GARUDA_ARROW_TRY_ASSIGN(auto const of_column, io::referenced_bytes(*batch.column_data(c)), ErrorCode::invalid_input,
                            kSentence);
    bytes += of_column;
  }
  return RowVolume{static_cast<std::uint64_t>(batch.num_rows()), static_cast<std::uint64_t>(bytes)};
}

Result<RowVolume> volume_of_all(io::ArrowBatches const& batches) {
  RowVolume volume;
  for (auto const& batch : batches) {
    GARUDA_TRY_ASSIGN(auto const more, volume_of(*batch));
    volume += more;
  }
  return volume;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> numbered(arrow::RecordBatch const& batch, std::string const& name,
                                                            std::int64_t first) {
  auto const rows = batch.num_rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                        arrow::AllocateBuffer(rows * std::int64_t{sizeof(std::int64_t)}, io::memory_pool()));
  auto* const numbers = reinterpret_cast<std::int64_t*>(buffer->mutable_data());
  std::iota(numbers, numbers + rows, first);
  return batch.AddColumn(batch.num_columns(), arrow::field(name, arrow::int64(), false),
                         std::make_shared<arrow::Int64Array>(rows, std::move(buffer)));
}

std::shared_ptr<arrow::RecordBatch> storable(arrow::RecordBatch const& batch) {
  auto columns = batch.columns();
  arrow::FieldVector fields;
  for (int c = 0; c < batch.num_columns(); ++c) {
    auto& column = columns[static_cast<std::size_t>(c)];
    if (column->type_id() == arrow::Type::EXTENSION)
      column = static_cast<arrow::ExtensionArray const&>(*column).storage();
    fields.push_back(arrow::field(batch.schema()->field(c)->name(), column->type()));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), std::move(columns));
}

struct SpillFile::Writer {
  std::shared_ptr<arrow::io::FileOutputStream> sink;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> rows;
};

SpillFile::SpillFile(TemporaryFolder const& folder, std::shared_ptr<arrow::Schema> schema)
    : folder_(&folder), schema_(std::move(schema)) {}
SpillFile::SpillFile(SpillFile&&) noexcept = default;
SpillFile& SpillFile::operator=(SpillFile&&) noexcept = default;
SpillFile::~SpillFile() = default;

Result<void> SpillFile::open() {
  GARUDA_TRY_ASSIGN(int const descriptor, folder_->create_file());
  descriptor_ = os::FileDescriptor(descriptor);
  auto const opened = [&]() -> arrow::Result<std::unique_ptr<Writer>> {
    auto const own = os::duplicate(descriptor);
    if (own.descriptor < 0) return arrow::internal::IOErrorFromErrno(own.error_number, "cannot duplicate a descriptor");
    auto writer = std::make_unique<Writer>();
    ARROW_ASSIGN_OR_RAISE(writer->sink, arrow::io::FileOutputStream::Open(own.descriptor));
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.memory_pool = io::memory_pool();
    options.use_threads = false;
    ARROW_ASSIGN_OR_RAISE(writer->rows, arrow::ipc::MakeFileWriter(writer->sink, schema_, options));
    return writer;
  };
  auto writer = opened();
  if (!writer.ok()) return tl::unexpected(spill_error(writer.status(), *folder_));
  writer_ = *std::move(writer);
  return {};
}

Result<void> SpillFile::write(arrow::RecordBatch const& batch) {
  if (batch.num_rows() == 0) return {};
  GARUDA_TRY_ASSIGN(auto const volume, volume_of(batch));
  if (writer_ == nullptr) {
    GARUDA_EXPECTS(descriptor_.get() < 0);  // not finished
    GARUDA_TRY(open());
  }
  auto const write_own = [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto own, with_own_views(batch.Slice(0)));
    ARROW_ASSIGN_OR_RAISE(own, io::with_own_unions(std::move(own)));
    return writer_->rows->WriteRecordBatch(*own);
  };
  auto const status = write_own();
  if (!status.ok()) return tl::unexpected(spill_error(status, *folder_));
  volume_ += volume;
  return {};
}

Result<void> SpillFile::finish() {
  if (writer_ == nullptr) return {};
  auto const writer = std::exchange(writer_, nullptr);
  auto const close = [&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(writer->rows->Close());
    ARROW_ASSIGN_OR_RAISE(auto const bytes, writer->sink->Tell());
    file_bytes_ = static_cast<std::uint64_t>(bytes);
    return writer->sink->Close();
  };
  auto const status = close();
  if (!status.ok()) return tl::unexpected(spill_error(status, *folder_));
  return {};
}

Result<NextBatch> SpillFile::read() const {
  GARUDA_EXPECTS(writer_ == nullptr);
  if (descriptor_.get() < 0) return NextBatch([] { return Result<std::shared_ptr<arrow::RecordBatch>>(nullptr); });
  auto const damaged = [folder = folder_](arrow::Status const& status) {
    return tl::unexpected(spill_error(status, *folder).wrap("spilled rows cannot be read back"));
  };
  auto const own = os::duplicate(descriptor_.get());
  if (own.descriptor < 0)
    return damaged(arrow::internal::IOErrorFromErrno(own.error_number, "cannot duplicate a descriptor"));
  auto const reader = open_file(own.descriptor);
  if (!reader.ok()) return damaged(reader.status());
  return NextBatch(
      [reader = *reader, schema = schema_, damaged, next = 0]() mutable -> Result<std::shared_ptr<arrow::RecordBatch>> {
        if (next == reader->num_record_batches()) return nullptr;
        auto const batch = read_batch(*reader, next++);
        if (!batch.ok()) return damaged(batch.status());
        // Arrow makes extension types of what is named so in the fields' metadata.
        auto columns = (*batch)->columns();
        for (auto& column : columns)
          if (column->type_id() == arrow::Type::EXTENSION)
            column = static_cast<arrow::ExtensionArray const&>(*column).storage();
        return arrow::RecordBatch::Make(schema, (*batch)->num_rows(), std::move(columns));
      });
}

Result<io::ArrowBatches> SpillFile::read_all() const {
  GARUDA_TRY_ASSIGN(auto const next, read());
  io::ArrowBatches batches;
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, next());
    if (batch == nullptr) return batches;
    batches.push_back(std::move(batch));
  }
}

}  // namespace garuda::spill
