#include "core/os/environment.hpp"

#include <cstdlib>

namespace garuda::os {
namespace {

std::optional<std::filesystem::path> folder_from(char const* variable, char const* below) {
  auto const folder = path_variable(variable);
  // The XDG specification has relative paths ignored.
  if (!folder || !folder->is_absolute()) return std::nullopt;
  return *below == '\0' ? *folder : *folder / below;
}

}  // namespace

std::optional<std::filesystem::path> path_variable(char const* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment while other threads run.
  auto const* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

void set_variable(char const* name, std::optional<std::string> const& value) {
  // NOLINTBEGIN(concurrency-mt-unsafe): the caller sees to it that nobody reads.
  if (value)
    ::setenv(name, value->c_str(), 1);
  else
    ::unsetenv(name);
  // NOLINTEND(concurrency-mt-unsafe)
}

std::optional<std::filesystem::path> cache_folder() {
  if (auto folder = folder_from("XDG_CACHE_HOME", "")) return folder;
  return folder_from("HOME", ".cache");
}

std::filesystem::path temporary_folder() { return path_variable("TMPDIR").value_or("/tmp"); }

}  // namespace garuda::os
