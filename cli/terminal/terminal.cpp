#include "cli/terminal/terminal.hpp"

#include <cerrno>
#include <limits>

#include "cli/terminal/standard_streams.hpp"
#include "core/os/file.hpp"
#include "core/os/streams.hpp"

namespace garuda::cli {
namespace {

constexpr std::string_view kBrokenPipe = "the reader of standard output has gone";

}  // namespace

Result<void> write_output(std::string_view text) {
  int const error_number = os::write_all(os::kOutput, text);
  if (error_number == 0) return {};
  if (error_number == EBADF) return check_output_is_open();
  if (error_number == EPIPE) return fail(ErrorCode::output, std::string(kBrokenPipe));
  return tl::unexpected(
      Error(ErrorCode::output, os::system_message(error_number)).wrap("cannot write to standard output"));
}

void write_error(std::string_view text) noexcept { static_cast<void>(os::write_all(os::kError, text)); }

bool is_broken_pipe(Error const& error) noexcept {
  return error.code() == ErrorCode::output && error.message() == kBrokenPipe;
}

bool error_is_terminal() noexcept { return os::is_terminal(os::kError); }

std::size_t output_width() noexcept {
  return os::terminal_columns(os::kOutput).value_or(std::numeric_limits<std::size_t>::max());
}

}  // namespace garuda::cli
