#include "io/ipc/file_mapping.hpp"

#include <arrow/io/memory.h>

#include "core/os/file.hpp"

namespace garuda::io {
namespace {

class Mapping final : public arrow::Buffer {
 public:
  explicit Mapping(os::MappedBytes mapped)
      : arrow::Buffer(reinterpret_cast<std::uint8_t const*>(mapped.address), mapped.bytes), mapped_(mapped) {}
  ~Mapping() override { os::unmap_file(mapped_); }

 private:
  os::MappedBytes mapped_;
};

}  // namespace

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> map_file(arrow::io::ReadableFile const& file) {
  auto const mapped = os::map_file(file.file_descriptor());
  if (mapped.address == nullptr) return arrow::internal::IOErrorFromErrno(mapped.error_number, "cannot map");
  return std::make_shared<arrow::io::BufferReader>(std::make_shared<Mapping>(mapped));
}

}  // namespace garuda::io
