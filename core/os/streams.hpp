// The standard streams, and the terminal that they may be. Descriptors 0 to 2 belong to them, opened or not.
#pragma once

#include <cstddef>
#include <optional>

namespace garuda::os {

inline constexpr int kOutput = 1;
inline constexpr int kError = 2;

/// Opens the null device in place of every standard stream that the process was started without, so that no file that
/// is opened later becomes one, and has text arrive as it is written: bytes, in UTF-8. 0 or an errno.
int prepare_standard_streams() noexcept;

/// False for a descriptor that is closed or open for reading alone.
bool is_writable(int descriptor) noexcept;

bool is_terminal(int descriptor) noexcept;

/// Width of the terminal that `descriptor` is; nullopt: it is none, or does not say.
std::optional<std::size_t> terminal_columns(int descriptor) noexcept;

}  // namespace garuda::os
