#include "core/os/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "core/os/file_lock.hpp"
#include "core/os/process.hpp"
#include "core/os/windows/windows.hpp"

namespace garuda::os {
namespace {

Opened opened(int descriptor) noexcept { return descriptor >= 0 ? Opened{descriptor, 0} : Opened{-1, errno}; }

Opened open_wide(std::filesystem::path const& file, int flags, int share, int mode) noexcept {
  int descriptor = -1;
  auto const error_number = ::_wsopen_s(&descriptor, file.c_str(), flags | _O_BINARY | _O_NOINHERIT, share, mode);
  return error_number == 0 ? Opened{descriptor, 0} : Opened{-1, error_number};
}

}  // namespace

Opened create_file(std::filesystem::path const& file) noexcept {
  return open_wide(file, _O_WRONLY | _O_CREAT | _O_EXCL, _SH_DENYNO, _S_IREAD | _S_IWRITE);
}

OpenedInput open_input(std::filesystem::path const& file) noexcept {
  // A folder cannot be opened as a file, and would be said to deny access.
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    OpenedInput folder{open_wide(L"NUL", _O_RDONLY, _SH_DENYNO, 0)};
    folder.kind = FileKind::folder;
    return folder;
  }
  OpenedInput input{open_wide(file, _O_RDONLY, _SH_DENYNO, 0)};
  if (input.file.descriptor < 0) return input;
  struct _stat64 status {};
  if (::_fstat64(input.file.descriptor, &status) != 0) {
    input.file.error_number = errno;
    ::_close(std::exchange(input.file.descriptor, -1));
    return input;
  }
  if ((status.st_mode & _S_IFMT) == _S_IFREG) input.kind = FileKind::regular;
  input.bytes = static_cast<std::uint64_t>(status.st_size);
  return input;
}

MappedBytes map_file(int descriptor) noexcept {
  struct _stat64 status {};
  if (::_fstat64(descriptor, &status) != 0) return {nullptr, 0, errno};
  auto* const file = reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor));
  auto* const mapping = ::CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) return {nullptr, 0, ENOMEM};
  auto const* const address = static_cast<std::byte const*>(::MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0));
  ::CloseHandle(mapping);  // the view keeps it
  if (address == nullptr) return {nullptr, 0, ENOMEM};
  return {address, status.st_size, 0};
}

void unmap_file(MappedBytes mapped) noexcept {
  ::UnmapViewOfFile(mapped.address);
  if (mapped.descriptor >= 0) ::_close(mapped.descriptor);
}

Opened create_unnamed_file(std::filesystem::path const& folder) {
  static std::atomic<std::uint32_t> counter{0};
  auto const name = fmt::format("garuda-spill-{}-{}", process_id(), counter.fetch_add(1));
  return open_wide(folder / name, _O_RDWR | _O_CREAT | _O_EXCL | _O_TEMPORARY, _SH_DENYRW, _S_IREAD | _S_IWRITE);
}

// The file is deleted when its descriptor is closed, which must not be while it is mapped.
MappedBytes map_unnamed_file(int descriptor) noexcept {
  auto mapped = map_file(descriptor);
  if (mapped.address == nullptr)
    ::_close(descriptor);
  else
    mapped.descriptor = descriptor;
  return mapped;
}

Opened create_nameless_file(std::filesystem::path const&) noexcept { return {-1, ENOTSUP}; }

int link_file(int, std::filesystem::path const&) noexcept { return ENOTSUP; }

int sync_file(int descriptor) noexcept { return ::_commit(descriptor) == 0 ? 0 : errno; }

// The file system sees to its folders itself.
int sync_folder(std::filesystem::path const&) noexcept { return 0; }

Opened duplicate(int descriptor) noexcept { return opened(::_dup(descriptor)); }

// A file takes its access rights from its folder here.
int copy_permissions(std::filesystem::path const&, int) noexcept { return 0; }

int write_all(int descriptor, std::string_view text) noexcept {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  while (!text.empty()) {
    auto const written = ::_write(descriptor, text.data(), static_cast<unsigned>(std::min(text.size(), kMostBytes)));
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int close_file(int descriptor) noexcept { return ::_close(descriptor) == 0 ? 0 : errno; }

int rename_file(std::filesystem::path const& from, std::filesystem::path const& to) noexcept {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  return error ? error.default_error_condition().value() : 0;
}

void delete_file(wchar_t const* file) noexcept { ::DeleteFileW(file); }

std::optional<FileLock> FileLock::take(std::filesystem::path const& file) {
  // Nobody else opens the file while this descriptor is open.
  auto const lock = open_wide(file, _O_RDWR | _O_CREAT, _SH_DENYRW, _S_IREAD | _S_IWRITE);
  if (lock.descriptor < 0) return std::nullopt;
  return FileLock(lock.descriptor);
}

}  // namespace garuda::os
