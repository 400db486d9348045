#include "io/ipc/file_mapping.hpp"

#include <arrow/io/memory.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

namespace garuda::io {
namespace {

class Mapping final : public arrow::Buffer {
 public:
  Mapping(void const* address, std::int64_t bytes) : arrow::Buffer(static_cast<std::uint8_t const*>(address), bytes) {}
  ~Mapping() override { ::munmap(const_cast<std::uint8_t*>(data()), static_cast<std::size_t>(size())); }
};

}  // namespace

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> map_file(arrow::io::ReadableFile const& file) {
  struct stat status {};
  if (::fstat(file.file_descriptor(), &status) != 0) return arrow::internal::IOErrorFromErrno(errno, "cannot map");
  auto const bytes = static_cast<std::size_t>(status.st_size);
  void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.file_descriptor(), 0);
  if (address == MAP_FAILED) return arrow::internal::IOErrorFromErrno(errno, "cannot map");
  return std::make_shared<arrow::io::BufferReader>(std::make_shared<Mapping>(address, status.st_size));
}

}  // namespace garuda::io
