#include "core/os/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/os/file_lock.hpp"

namespace garuda::os {
namespace {

Opened opened(int descriptor) noexcept { return descriptor >= 0 ? Opened{descriptor, 0} : Opened{-1, errno}; }

/// Where /proc has an open file.
struct ProcessPath {
  explicit ProcessPath(int descriptor) noexcept { std::snprintf(text, sizeof(text), "/proc/self/fd/%d", descriptor); }
  char text[32]{};
};

}  // namespace

Opened create_file(std::filesystem::path const& file) noexcept {
  return opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
}

OpenedInput open_input(std::filesystem::path const& file) noexcept {
  // O_NONBLOCK: opening a pipe must not wait for a writer, only to be refused.
  OpenedInput input{opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
  if (input.file.descriptor < 0) return input;
  struct stat status {};
  if (::fstat(input.file.descriptor, &status) != 0) {
    input.file.error_number = errno;
    ::close(std::exchange(input.file.descriptor, -1));
    return input;
  }
  if (S_ISREG(status.st_mode)) input.kind = FileKind::regular;
  if (S_ISDIR(status.st_mode)) input.kind = FileKind::folder;
  input.bytes = static_cast<std::uint64_t>(status.st_size);
  return input;
}

MappedBytes map_file(int descriptor) noexcept {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return {nullptr, 0, errno};
  void* const address =
      ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) return {nullptr, 0, errno};
  return {static_cast<std::byte const*>(address), status.st_size, 0};
}

void unmap_file(MappedBytes mapped) noexcept {
  ::munmap(const_cast<std::byte*>(mapped.address), static_cast<std::size_t>(mapped.bytes));
}

Opened create_unnamed_file(std::filesystem::path const& folder) {
#ifdef O_TMPFILE
  // A file that never has a name, where the file system knows such.
  int const descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // EISDIR: from kernels that do not know the flag.
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return opened(descriptor);
#endif
  auto name = folder.string() + "/garuda-spill-XXXXXX";
  int const named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) return opened(named);
  if (::unlink(name.c_str()) == 0) return opened(named);
  Opened const failed{-1, errno};
  ::close(named);
  return failed;
}

MappedBytes map_unnamed_file(int descriptor) noexcept {
  auto const mapped = map_file(descriptor);
  ::close(descriptor);
  return mapped;
}

Opened create_nameless_file([[maybe_unused]] std::filesystem::path const& folder) noexcept {
#ifdef O_TMPFILE
  auto const file = opened(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  if (file.descriptor < 0 || ::access(ProcessPath(file.descriptor).text, F_OK) == 0) return file;
  ::close(file.descriptor);  // without /proc it could not be named
#endif
  return {-1, ENOTSUP};
}

int link_file(int descriptor, std::filesystem::path const& to) noexcept {
  auto const linked = ::linkat(AT_FDCWD, ProcessPath(descriptor).text, AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW);
  return linked == 0 ? 0 : errno;
}

int sync_file(int descriptor) noexcept { return ::fsync(descriptor) == 0 ? 0 : errno; }

int sync_folder(std::filesystem::path const& folder) noexcept {
  auto const names = opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (names.descriptor < 0) return names.error_number;
  int const error_number = sync_file(names.descriptor);
  ::close(names.descriptor);
  return error_number == EINVAL ? 0 : error_number;  // from file systems that see to their folders themselves
}

Opened duplicate(int descriptor) noexcept { return opened(::dup(descriptor)); }

int copy_permissions(std::filesystem::path const& existing, int descriptor) noexcept {
  struct stat status {};
  if (::stat(existing.c_str(), &status) != 0) return 0;
  return ::fchmod(descriptor, status.st_mode & 0777) == 0 ? 0 : errno;
}

int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    auto const written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int close_file(int descriptor) noexcept { return ::close(descriptor) == 0 ? 0 : errno; }

int rename_file(std::filesystem::path const& from, std::filesystem::path const& to) noexcept {
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

void delete_file(char const* file) noexcept { ::unlink(file); }

std::optional<FileLock> FileLock::take(std::filesystem::path const& file) {
  auto const descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return std::nullopt;
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return lock;
}

}  // namespace garuda::os
