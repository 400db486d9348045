// An output file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <string>

#include "core/os/file.hpp"
#include "garuda/error.hpp"

namespace garuda::os {

/// A file without a name, which it gets on commit. Where the file system has none such, a temporary file beside the
/// final one, which is deleted without commit. A file that has the name is replaced then, and not before. Move-only
/// owner.
class OutputFile {
 public:
  /// Creates the file, so that a folder that cannot be written to is known before any work. A symbolic link is
  /// followed, to a file that does not exist yet, too; the permissions of an existing file are kept. `syncs`: whoever
  /// writes waits for the disk, and so does commit. Errors: output, naming `path`: folder missing or not writable,
  /// `path` is a folder or a device.
  static Result<OutputFile> create(std::filesystem::path const& path, bool syncs = false);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  std::filesystem::path const& path() const noexcept { return path_; }
  bool syncs() const noexcept { return syncs_; }
  /// A name that the file may have until commit has returned, for whoever has to delete it when the process ends at
  /// once.
  std::filesystem::path const& temporary_path() const noexcept { return temporary_path_; }
  /// Opens the file for writing from its start; the caller closes it. May be called once. Errors: output.
  Result<int> open();
  /// Gives the file its final name. Requires: all has been written and closed without an error.
  /// Errors: output; where the disk fails to take the name alone, the file is there.
  Result<void> commit();

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path target, bool syncs) noexcept;
  std::filesystem::path folder() const;
  Result<void> create_temporary();
  template <class Name>
  int name_temporarily(Name const& name);
  int put_in_place();
  void discard() noexcept;

  std::filesystem::path path_;            // as the user wrote it
  std::filesystem::path target_;          // where it is
  std::filesystem::path temporary_path_;  // beside it
  int descriptor_ = -1;
  bool is_named_ = false;  // temporary_path_ is there, and ours
  bool syncs_;
};

}  // namespace garuda::os
