#include "io/table_files.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <memory>

#include "core/escaped_text.hpp"
#include "core/os/file.hpp"
#include "io/file_format.hpp"

namespace garuda::io {
namespace {

namespace fs = std::filesystem;

Error unreadable(std::string const& name, std::string reason) {
  return Error(ErrorCode::invalid_input, std::move(reason)).wrap("cannot read " + name);
}

bool is_hidden(fs::path const& path) {
  auto const name = path.filename().string();
  return name.starts_with('.') || name.starts_with('_');
}

Result<std::vector<fs::path>> files_below(fs::path const& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    if (is_hidden(entries->path())) {
      entries.disable_recursion_pending();
      continue;
    }
    std::error_code unknown;
    if (format_of(entries->path()) && !entries->is_directory(unknown)) found.push_back(entries->path());
  }
  if (error)
    return tl::unexpected(unreadable(folder.string(), os::system_message(error.default_error_condition().value())));
  if (found.empty())
    return tl::unexpected(
        unreadable(folder.string(), "it is a folder without a .parquet, .arrow, .feather or .csv file"));
  std::ranges::sort(found);
  return found;
}

Result<std::vector<fs::path>> files_like(std::string const& pattern) {
  glob_t matches{};
  int const status = ::glob(pattern.c_str(), 0, nullptr, &matches);
  std::unique_ptr<glob_t, void (*)(glob_t*)> const owner(&matches, ::globfree);
  if (status == GLOB_NOSPACE) return fail(ErrorCode::out_of_memory, "no memory for the names of files");
  if (status != 0) return tl::unexpected(unreadable(pattern, "no file has such a name"));
  std::vector<fs::path> found(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  std::ranges::sort(found);
  return found;
}

/// Files that one member of a list names. A file that exists is found by its name, whatever characters it has.
Result<std::vector<fs::path>> files_called(std::string const& name) {
  std::error_code error;
  if (fs::is_directory(name, error)) return files_below(name);
  bool const is_pattern = name.find_first_of("*?[") != std::string::npos && !fs::exists(name, error);
  if (is_pattern) return files_like(name);
  return std::vector{fs::path(name)};
}

int hex_digit(char c) {
  auto const digit = std::string_view("0123456789abcdef").find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
  return digit == std::string_view::npos ? -1 : static_cast<int>(digit);
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool const is_code =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    decoded += is_code ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (is_code) i += 2;
  }
  return decoded;
}

TableFile with_keys(fs::path const& path) {
  TableFile file{path, {}};
  for (auto const& part : path.parent_path()) {
    auto const text = part.string();
    auto const equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) continue;
    auto value = percent_decoded(std::string_view(text).substr(equals + 1));
    bool const is_null = value == "__HIVE_DEFAULT_PARTITION__";
    file.keys.emplace_back(percent_decoded(std::string_view(text).substr(0, equals)),
                           is_null ? std::nullopt : std::optional(std::move(value)));
  }
  return file;
}

bool is_integer(std::string const& text) {
  std::int64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Result<void> check_keys(TableFiles const& table) {
  auto const names = [](TableFile const& file) {
    std::vector<std::string> all;
    for (auto const& [key, value] : file.keys) all.push_back(key);
    return all;
  };
  auto const& first = table.files.front();
  auto sorted = names(first);
  std::ranges::sort(sorted);
  if (auto const twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return tl::unexpected(unreadable(first.path.string(), fmt::format("two of its folders give '{}'", *twice)));
  for (auto const& file : table.files)
    if (names(file) != names(first))
      return tl::unexpected(unreadable(table.name, fmt::format("the folders of {} and {} give different columns",
                                                               first.path.string(), file.path.string())));
  return {};
}

/// The table that a file or a folder is; nullopt: it is none.
Result<std::optional<TableFiles>> table_at(fs::path const& path) {
  if (is_hidden(path)) return std::nullopt;
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) {
    if (!format_of(path)) return std::nullopt;
    return TableFiles(path);
  }
  auto const files = files_below(path);
  if (!files) return std::nullopt;
  TableFiles table;
  table.name = path.string();
  for (auto const& file : *files) table.files.push_back(with_keys(file));
  GARUDA_TRY(check_keys(table));
  return table;
}

}  // namespace

std::uint64_t TableFiles::bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (auto const& file : files) {
    std::error_code unknown;
    auto const more = std::filesystem::file_size(file.path, unknown);
    if (!unknown) bytes += more;
  }
  return bytes;
}

bool TableFiles::has_integers(std::size_t key) const {
  bool any = false;
  for (auto const& file : files) {
    auto const& value = file.keys[key].second;
    if (value && !is_integer(*value)) return false;
    any = any || value.has_value();
  }
  return any;
}

Result<TableFiles> find_files(std::string_view text) {
  std::error_code error;
  fs::path const whole(text);
  if (fs::exists(whole, error) && !fs::is_directory(whole, error)) {
    GARUDA_TRY(format_of(whole));
    return TableFiles(whole);
  }
  TableFiles table;
  table.name = text;
  auto const members = split_unescaped(text, ',');
  for (auto const member : members) {
    GARUDA_TRY_ASSIGN(auto const name, unescape(member));
    GARUDA_TRY_ASSIGN(auto const paths, files_called(name));
    bool const is_file = members.size() == 1 && paths.size() == 1 && paths.front() == name;
    for (auto const& path : paths) {
      GARUDA_TRY(format_of(path));
      table.files.push_back(is_file ? TableFile{path, {}} : with_keys(path));
    }
  }
  GARUDA_TRY(check_keys(table));
  return table;
}

Result<std::vector<NamedFiles>> find_tables(fs::path const& folder) {
  std::vector<NamedFiles> tables;
  std::error_code error;
  for (fs::directory_iterator entries(folder, error); !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    GARUDA_TRY_ASSIGN(auto files, table_at(entries->path()));
    if (files) tables.push_back({entries->path().stem().string(), *std::move(files)});
  }
  if (error)
    return tl::unexpected(unreadable(folder.string(), os::system_message(error.default_error_condition().value())));
  if (tables.empty()) return tl::unexpected(unreadable(folder.string(), "it is a folder without a table"));
  std::ranges::sort(tables, {}, [](NamedFiles const& table) { return std::pair(table.name, table.files.name); });
  if (auto const twice = std::ranges::adjacent_find(tables, {}, &NamedFiles::name); twice != tables.end())
    return tl::unexpected(
        unreadable(folder.string(), fmt::format("two of its tables are called '{}': {}, {}", twice->name,
                                                twice->files.name, std::next(twice)->files.name)));
  return tables;
}

}  // namespace garuda::io
