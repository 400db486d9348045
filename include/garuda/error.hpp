// Errors that a correct caller on a healthy machine can meet are values (Result<T>); a caller's bug throws LogicError.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace garuda {

enum class ErrorCode : std::uint8_t {
  usage,           ///< a request that no input could satisfy: contradictory or unknown options
  invalid_input,   ///< unreadable or malformed data, unknown column, unsupported type, overflow
  no_device,       ///< no such device, or the path that was asked for cannot run on it
  out_of_memory,   ///< host or device memory exhausted
  limit_exceeded,  ///< a memory limit given by the caller cannot be kept
  output,          ///< the result cannot be written: disk full, folder not writable
  device_failure,  ///< a driver call failed or the device was lost
  cancelled,       ///< the caller's cancellation flag was seen
};

/// Name of `code` as the enumerator is spelled.
std::string_view to_string(ErrorCode code) noexcept;

/// A failure: what kind, one sentence that names the thing, and what caused it (outermost cause first).
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const noexcept { return code_; }
  std::string const& message() const noexcept { return message_; }
  std::vector<std::string> const& causes() const noexcept { return causes_; }

  /// Returns this error under a new sentence; the present message becomes its first cause.
  Error wrap(std::string message) &&;

  /// The message followed by its causes, separated by ": ".
  std::string describe() const;

 private:
  ErrorCode code_;
  std::string message_;
  std::vector<std::string> causes_;
};

template <class T>
using Result = tl::expected<T, Error>;

/// Makes the failure side of any Result<T>: `return fail(ErrorCode::usage, "...")`.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error(code, std::move(message)));
}

/// Passes the failure of `result` on to a caller that returns another Result type.
template <class T>
tl::unexpected<Error> propagate(Result<T>&& result) {
  return tl::unexpected<Error>(std::move(result).error());
}

/// A precondition broken by the calling code.
class LogicError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void throw_logic_error(char const* condition, char const* file, int line);

}  // namespace garuda

/// Checks a precondition in every build type; throws LogicError.
#define GARUDA_EXPECTS(condition) \
  ((condition) ? static_cast<void>(0) : ::garuda::throw_logic_error(#condition, __FILE__, __LINE__))

#define GARUDA_CONCAT_INNER(a, b) a##b
#define GARUDA_CONCAT(a, b) GARUDA_CONCAT_INNER(a, b)

/// Returns from the calling function when `expression`, a Result<void>, failed.
#define GARUDA_TRY(expression)                                                        \
  do {                                                                                \
    auto garuda_try_result = (expression);                                            \
    if (!garuda_try_result) return ::garuda::propagate(std::move(garuda_try_result)); \
  } while (false)

/// Declares `declaration` from the value of `expression`, a Result<T>, or returns its error from the calling function.
#define GARUDA_TRY_ASSIGN(declaration, expression) \
  GARUDA_TRY_ASSIGN_INNER(GARUDA_CONCAT(garuda_result_, __LINE__), declaration, expression)
#define GARUDA_TRY_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                                    \
  if (!result) return ::garuda::propagate(std::move(result));    \
  declaration = std::move(*result)
