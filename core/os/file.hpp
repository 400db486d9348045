// Files by descriptor. A function that fails says so with an errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace garuda::os {

/// The meaning of `error_number` (an errno), as the second half of a sentence: "no space left on device".
inline std::string system_message(int error_number) {
  auto message = std::generic_category().message(error_number);
  if (!message.empty() && message[0] >= 'A' && message[0] <= 'Z')
    message[0] = static_cast<char>(message[0] - 'A' + 'a');
  return message;
}

/// A descriptor, or an errno.
struct Opened {
  int descriptor = -1;
  int error_number = 0;
};

/// Makes `file`, which must not exist, and opens it for writing. Child processes do not inherit it.
Opened create_file(std::filesystem::path const& file) noexcept;

enum class FileKind : std::uint8_t { regular, folder, other };

struct OpenedInput {
  Opened file;
  FileKind kind = FileKind::other;
  std::uint64_t bytes = 0;
};

/// Opens `file` for reading, without waiting for whoever writes into a pipe. Child processes do not inherit it.
OpenedInput open_input(std::filesystem::path const& file) noexcept;

/// A file's bytes as memory, or an errno.
struct MappedBytes {
  std::byte const* address = nullptr;
  std::int64_t bytes = 0;
  int error_number = 0;
  int descriptor = -1;  ///< of the file, where the platform needs it as long as the bytes are mapped
};

/// Maps the file as long as it is now; handle_cut_file (core/os/signals) is about what somebody cuts off since, and
/// what somebody overwrites changes.
MappedBytes map_file(int descriptor) noexcept;
void unmap_file(MappedBytes mapped) noexcept;

/// Makes a file in `folder` that goes when its last descriptor is closed, and opens it for reading and writing.
Opened create_unnamed_file(std::filesystem::path const& folder);

/// Maps a file of create_unnamed_file and takes its descriptor: the file goes with unmap_file, or when this fails.
MappedBytes map_unnamed_file(int descriptor) noexcept;

/// Makes a file without a name that `link_file` can give one, in `folder`, and opens it for writing. Fails where the
/// file system, or the platform, has none such.
Opened create_nameless_file(std::filesystem::path const& folder) noexcept;

/// Gives the nameless file the name `to`. 0 or an errno: EEXIST where `to` is there.
int link_file(int descriptor, std::filesystem::path const& to) noexcept;

/// Returns when the bytes of a file, or the names in a folder, are on the disk. 0 or an errno.
int sync_file(int descriptor) noexcept;
int sync_folder(std::filesystem::path const& folder) noexcept;

/// A second descriptor of the same file, with the same position.
Opened duplicate(int descriptor) noexcept;

/// Gives the open file the permissions of `existing`, where that is there, to read, write and execute: what it may be
/// set to beside them (set-user-ID) was said of its old content. 0 or an errno.
int copy_permissions(std::filesystem::path const& existing, int descriptor) noexcept;

/// Writes all of `text`. 0 or an errno.
int write_all(int descriptor, std::string_view text) noexcept;

/// 0 or an errno.
int close_file(int descriptor) noexcept;

/// Owner of a descriptor, or of none: closes it unless it is taken. What is to be written is closed by close_file,
/// which says what was lost.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.take()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) (void)close_file(number_);
  }

  /// -1: there is none.
  int get() const noexcept { return number_; }
  /// Gives it up to the caller.
  int take() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// Gives `from` the name `to`, in place of what has it. 0 or an errno.
int rename_file(std::filesystem::path const& from, std::filesystem::path const& to) noexcept;

/// Deletes a file; handlers of signals may call it.
void delete_file(std::filesystem::path::value_type const* file) noexcept;

}  // namespace garuda::os
