// Errors become a sentence on standard error and an exit code.
#pragma once

#include "garuda/error.hpp"

namespace garuda::cli {

inline constexpr int kExitDone = 0;
/// A bug of garuda's own; none of the codes that a user can act on.
inline constexpr int kExitInternalError = 1;
/// `garuda report compare --regression` has found one.
inline constexpr int kExitRegression = 7;

/// 2 wrong usage, 3 bad input, 4 no such device or path, 5 memory, limits and output, 6 device failure, 130
/// interrupted.
int exit_code(ErrorCode code) noexcept;

/// Writes `garuda: <error>` to standard error and returns its exit code.
int report(Error const& error);

/// Whether it has been called since the command line began. A signal handler may ask.
bool has_reported() noexcept;
/// A further command line begins.
void forget_reported() noexcept;

/// 0, or what `report` makes of the error.
int report(Result<void> const& result);

}  // namespace garuda::cli
