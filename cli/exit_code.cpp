#include "cli/exit_code.hpp"

#include <fmt/format.h>

#include <atomic>

#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace garuda::cli {
namespace {

std::atomic<bool> reported{false};

}  // namespace

bool has_reported() noexcept { return reported; }
void forget_reported() noexcept { reported = false; }

int exit_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::usage:
      return 2;
    case ErrorCode::invalid_input:
      return 3;
    case ErrorCode::no_device:
      return 4;
    case ErrorCode::out_of_memory:
    case ErrorCode::limit_exceeded:
    case ErrorCode::output:
      return 5;
    case ErrorCode::device_failure:
      return 6;
    case ErrorCode::cancelled:
      return 130;
  }
  return kExitInternalError;
}

int report(Error const& error) {
  // A reader that left, as `head` does, is no news to anyone, and one sentence about an interruption is enough.
  bool const is_interrupted = error.code() == ErrorCode::cancelled;
  bool const said = is_interrupted && !claim_interrupt_sentence();
  if (!is_broken_pipe(error) && !said)
    write_error(fmt::format("garuda: {}\n", is_interrupted ? "interrupted" : error.describe()));
  reported = true;
  return exit_code(error.code());
}

int report(Result<void> const& result) { return result ? kExitDone : report(result.error()); }

}  // namespace garuda::cli
