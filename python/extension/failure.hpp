// Errors of the library on their way to Python's exceptions (garuda/errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <utility>

#include "garuda/error.hpp"

namespace garuda::python {

/// An error as Python sees it: a kind that errors.py has a class for, and the sentences.
struct Failure {
  std::string kind;  ///< name of an ErrorCode, `unknown_column`, `forked` or `internal`
  Error error;
};

[[noreturn]] void raise(Error error);
[[noreturn]] void raise(std::string kind, Error error);

template <class T>
T unwrap(Result<T>&& result) {
  if (!result) raise(std::move(result).error());
  return *std::move(result);
}
inline void unwrap(Result<void>&& result) {
  if (!result) raise(std::move(result).error());
}

/// Throws a Failure as it is, other exceptions as one: lack of memory or threads as such, the rest as `internal`.
[[noreturn]] void raise_thrown(std::exception_ptr const& thrown);

/// Ends a call in a process that was forked after garuda had been used: neither threads nor devices came along.
void require_not_forked();
/// Remembers that the library was used: a fork from now on is one after use.
void mark_used();
/// True in such a process.
bool is_forked() noexcept;

void register_failures();

}  // namespace garuda::python
