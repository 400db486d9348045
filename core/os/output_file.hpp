// An output file that appears whole or not at all.
#pragma once

#include <filesystem>

#include "garuda/error.hpp"

namespace garuda::os {

/// A temporary file beside the final one, which it replaces on commit and is deleted without. Move-only owner.
class OutputFile {
 public:
  /// Creates the temporary file, so that a folder that cannot be written to is known before any work. A symbolic link
  /// is followed, to a file that does not exist yet, too; an existing file keeps its permissions and is replaced only
  /// on commit. Errors: output, naming `path`: folder missing or not writable, `path` is a folder or a device.
  static Result<OutputFile> create(std::filesystem::path const& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  std::filesystem::path const& path() const noexcept { return path_; }
  /// Name of the temporary file, for whoever has to delete it when the process ends at once.
  std::filesystem::path const& temporary_path() const noexcept { return temporary_path_; }
  /// Hands over the file, open for writing from its start; the caller closes it. May be called once.
  int release_descriptor() noexcept;
  /// Gives the file its final name. Requires: all has been written and closed without an error.
  /// Errors: output.
  Result<void> commit();

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path target) noexcept;
  Result<void> open_temporary();
  void discard() noexcept;

  std::filesystem::path path_;            // as the user wrote it
  std::filesystem::path target_;          // where it is
  std::filesystem::path temporary_path_;  // empty: none, or no longer ours
  int descriptor_ = -1;
};

}  // namespace garuda::os
