// Where operators put rows that memory has no room for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "garuda/error.hpp"

namespace garuda::os {

/// A folder for files without names: the operating system frees them when they are closed, however the process ends.
class TemporaryFolder {
 public:
  /// `path`: nullopt for the system's ($TMPDIR, or /tmp). Nothing is touched before the first file.
  explicit TemporaryFolder(std::optional<std::filesystem::path> path) : path_(std::move(path)) {}

  /// Returns the descriptor of a new, empty file, open for reading and writing; the caller closes it.
  /// Errors: output, naming the folder: missing, not writable, no folder.
  Result<int> create_file() const;

  /// "cannot spill to FOLDER", the sentence of every error about its files.
  std::string sentence() const;

 private:
  std::filesystem::path path() const;

  std::optional<std::filesystem::path> path_;
};

}  // namespace garuda::os
