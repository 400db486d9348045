#include "cli/terminal/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "cli/terminal/standard_streams.hpp"
#include "io/system_message.hpp"

namespace garuda::cli {
namespace {

/// Returns 0 or an errno.
int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    auto const written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

constexpr std::string_view kBrokenPipe = "the reader of standard output has gone";

}  // namespace

Result<void> write_output(std::string_view text) {
  int const error_number = write_all(STDOUT_FILENO, text);
  if (error_number == 0) return {};
  if (error_number == EBADF) return check_output_is_open();
  if (error_number == EPIPE) return fail(ErrorCode::output, std::string(kBrokenPipe));
  return tl::unexpected(
      Error(ErrorCode::output, io::system_message(error_number)).wrap("cannot write to standard output"));
}

void write_error(std::string_view text) noexcept { static_cast<void>(write_all(STDERR_FILENO, text)); }

bool is_broken_pipe(Error const& error) noexcept {
  return error.code() == ErrorCode::output && error.message() == kBrokenPipe;
}

bool error_is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }

std::size_t output_width() noexcept {
  winsize size{};
  bool const known = ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : std::numeric_limits<std::size_t>::max();
}

}  // namespace garuda::cli
