// Exceptions of the standard library and of other libraries that say that memory or threads ran out.
#pragma once

#include <optional>

#include "garuda/error.hpp"

namespace garuda {

/// Returns the exception being handled as an out_of_memory Error when it says that host memory or threads ran out:
/// std::bad_alloc, the std::system_error of std::thread, oneTBB's std::runtime_error. nullopt for any other, which is a
/// bug, and where none is handled. For catch (...) blocks and terminate handlers. Throws std::bad_alloc.
std::optional<Error> current_shortage();

}  // namespace garuda
