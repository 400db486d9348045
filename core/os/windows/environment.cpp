#include "core/os/environment.hpp"

#include <cstdlib>
#include <system_error>

#include "core/os/windows/text.hpp"

namespace garuda::os {
namespace {

std::optional<std::filesystem::path> folder_from(char const* variable) {
  auto folder = path_variable(variable);
  if (!folder || !folder->is_absolute()) return std::nullopt;
  return folder;
}

}  // namespace

std::optional<std::filesystem::path> path_variable(char const* name) {
  auto const* const value = ::_wgetenv(to_wide(name).c_str());
  if (value == nullptr || *value == L'\0') return std::nullopt;
  return value;
}

void set_variable(char const* name, std::optional<std::string> const& value) {
  // An empty value removes the variable.
  ::_wputenv_s(to_wide(name).c_str(), to_wide(value.value_or("")).c_str());
}

std::optional<std::filesystem::path> cache_folder() {
  if (auto folder = folder_from("XDG_CACHE_HOME")) return folder;
  return folder_from("LOCALAPPDATA");
}

std::filesystem::path temporary_folder() {
  if (auto folder = path_variable("TMPDIR")) return *folder;
  std::error_code error;
  auto folder = std::filesystem::temp_directory_path(error);
  return error ? std::filesystem::path(".") : folder;
}

}  // namespace garuda::os
