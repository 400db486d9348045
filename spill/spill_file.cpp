#include "spill/spill_file.hpp"

#include <utility>

#include "core/os/file.hpp"
#include "io/own_unions.hpp"
#include "spill/own_views.hpp"

namespace garuda::spill {
namespace {

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

SpillFile::Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

SpillFile::Descriptor& SpillFile::Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

SpillFile::Descriptor::~Descriptor() {
  if (number_ >= 0) os::close_file(number_);
}

SpillFile::SpillFile(TemporaryFolder const& folder, std::shared_ptr<arrow::Schema> schema)
    : folder_(&folder), schema_(std::move(schema)) {}
SpillFile::SpillFile(SpillFile&&) noexcept = default;
SpillFile& SpillFile::operator=(SpillFile&&) noexcept = default;
SpillFile::~SpillFile() = default;

Result<void> SpillFile::open() {
  GARUDA_TRY_ASSIGN(int const descriptor, folder_->create_file());
  descriptor_ = Descriptor(descriptor);
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
    GARUDA_EXPECTS(descriptor_.number() < 0);  // not finished
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
  if (descriptor_.number() < 0) return NextBatch([] { return Result<std::shared_ptr<arrow::RecordBatch>>(nullptr); });
  auto const damaged = [folder = folder_](arrow::Status const& status) {
    return tl::unexpected(spill_error(status, *folder).wrap("spilled rows cannot be read back"));
  };
  auto const own = os::duplicate(descriptor_.number());
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

}  // namespace garuda::spill
