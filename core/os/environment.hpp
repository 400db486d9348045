// Variables of the environment, and the folders that the system keeps for its users.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace garuda::os {

/// The file that text in UTF-8 names: the standard library takes plain text for the system's own encoding.
inline std::filesystem::path to_path(std::string_view utf8) { return std::u8string(utf8.begin(), utf8.end()); }

/// The path that variable `name` holds; nullopt where it is not set or empty.
std::optional<std::filesystem::path> path_variable(char const* name);

/// Sets a variable of this process, or removes it. While other threads read the environment it must not be called.
void set_variable(char const* name, std::optional<std::string> const& value);

/// Where programs keep for a user what they can make again: $XDG_CACHE_HOME; without it ~/.cache, on Windows the local
/// application data. Nothing where none of them is known.
std::optional<std::filesystem::path> cache_folder();

/// Where temporary files go: $TMPDIR, or what the system names.
std::filesystem::path temporary_folder();

}  // namespace garuda::os
