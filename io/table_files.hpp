// The files that make one table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/error.hpp"

namespace garuda::io {

/// A file of a table.
struct TableFile {
  std::filesystem::path path;
  /// Keys and values of the file's folders, `key=value`, in their order; nullopt: null.
  std::vector<std::pair<std::string, std::optional<std::string>>> keys;
};

/// The files of one table, at least one, whose rows come in this order. All have the keys of the first one.
struct TableFiles {
  std::string name;  ///< as it was asked for
  std::vector<TableFile> files;

  TableFiles() = default;
  /// A table of one file, whose folders give no columns.
  TableFiles(std::filesystem::path const& path) : name(path.string()), files{{path, {}}} {}  // NOLINT
  TableFiles(char const* path) : TableFiles(std::filesystem::path(path)) {}                  // NOLINT

  bool is_one() const noexcept { return files.size() == 1 && files.front().keys.empty(); }
  /// Whether the values of key `key` of all files are integers.
  bool has_integers(std::size_t key) const;
  /// Bytes of all files. A missing file counts none: whoever reads it says so.
  std::uint64_t bytes() const noexcept;
};

/// Finds what `text` asks for:
///   a file, by its name
///   a folder: all files in it and below with the extension of a format, but those whose name, or whose folder's,
///     begins with a dot or an underscore
///   a pattern with *, ? or […], as a shell has it
///   a list of these, separated by commas; a backslash makes the next character part of a name
/// Files of a folder or pattern come by name. Where `text` is not one file's name, folders called `key=value` in the
/// path of a file give it columns: percent-encoded characters are decoded, and __HIVE_DEFAULT_PARTITION__ is null.
/// Errors: usage (a file's extension is unknown); invalid_input: nothing is found, or folders differ in their keys.
/// That these are text is seen to by whoever reads the files.
Result<TableFiles> find_files(std::string_view text);

/// A table by its name.
struct NamedFiles {
  std::string name;
  TableFiles files;
};

/// Finds the tables in a folder, by name: each file with the extension of a format, and each folder that holds such
/// files, is a table, which is called by its name without an extension. Others, and those whose name begins with a dot
/// or an underscore, are left out. Errors: invalid_input: it is no folder, no table is in it, or two are called alike.
Result<std::vector<NamedFiles>> find_tables(std::filesystem::path const& folder);

}  // namespace garuda::io
