// Descriptors 0 to 2 belong to the standard streams, whether the caller opened them or not.
#pragma once

#include "garuda/error.hpp"

namespace garuda::cli {

/// Opens the null device in place of every standard stream that the process was started without, so that no file that
/// is opened later becomes standard output or error. Reading such an input and writing such an output fail; what is
/// written to such a standard error is dropped. To be called before any other file is opened.
/// Errors: output, when it cannot be opened.
Result<void> occupy_standard_streams();

/// Errors: output, when the process was started with standard output closed.
Result<void> check_output_is_open();

}  // namespace garuda::cli
