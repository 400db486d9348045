// Libraries of garuda's own that are loaded at run time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace garuda::os {

/// Where the library `name` may be, what is to be tried first in front: the files that are there beside this library or
/// program and where a build or an install puts them; at last its bare name, for which the system looks.
std::vector<std::filesystem::path> own_library_files(std::string const& name);

}  // namespace garuda::os
