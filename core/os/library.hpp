// Libraries that are loaded at run time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "garuda/error.hpp"

namespace garuda::os {

/// When a library's own calls into others are bound.
enum class Binding : std::uint8_t {
  at_once,      ///< a function that nobody has is an error of loading
  when_called,  ///< quicker by a third where there are many; a function that nobody has ends the process at its call
};

/// A library that stays loaded until the process ends.
class LoadedLibrary {
 public:
  /// Loads `file`: a path, or a name that the system looks for. Errors: no_device, with the system's reason.
  static Result<LoadedLibrary> load(std::filesystem::path const& file, Binding binding = Binding::at_once);

  /// The address of what the library exports as `name`. Errors: no_device, with the system's reason.
  Result<void*> find(char const* name) const;

 private:
  explicit LoadedLibrary(void* handle) noexcept : handle_(handle) {}

  void* handle_;
};

/// The name of the file of library `name`: "libNAME.so", "NAME.dll".
std::string library_file_name(std::string const& name);

/// The folder of the library or program that this function is part of; empty where the system does not say.
std::filesystem::path own_folder();

/// Where the library `name` may be, what is to be tried first in front: the files that are there beside this library or
/// program and where a build or an install puts them; at last its bare name, for which the system looks.
std::vector<std::filesystem::path> own_library_files(std::string const& name);

}  // namespace garuda::os
