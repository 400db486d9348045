// Standard output and standard error.
#pragma once

#include <cstddef>
#include <string_view>

#include "garuda/error.hpp"

namespace garuda::cli {

/// Writes all of `text` to standard output.
/// Errors: output.
Result<void> write_output(std::string_view text);

/// Writes `text` to standard error; there is nowhere to complain when that fails.
void write_error(std::string_view text) noexcept;

/// True for the failure of write_output when the reader has closed its end.
bool is_broken_pipe(Error const& error) noexcept;

bool error_is_terminal() noexcept;

/// Columns of the terminal that standard output is, or a number that nothing reaches when it is none.
std::size_t output_width() noexcept;

}  // namespace garuda::cli
