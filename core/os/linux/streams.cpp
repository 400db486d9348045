#include "core/os/streams.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace garuda::os {
namespace {

struct Stand {
  int descriptor;
  int flags;
};

// The wrong way round for input and output: whoever uses them is told so by EBADF.
constexpr std::array kStands{Stand{STDIN_FILENO, O_WRONLY}, Stand{STDOUT_FILENO, O_RDONLY},
                             Stand{STDERR_FILENO, O_WRONLY}};

}  // namespace

int prepare_standard_streams() noexcept {
  for (auto const& stand : kStands) {
    if (::fcntl(stand.descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free descriptor is taken, which is this one: those below it are occupied by now.
    if (::open("/dev/null", stand.flags) < 0) return errno;
  }
  return 0;
}

bool is_writable(int descriptor) noexcept {
  auto const flags = ::fcntl(descriptor, F_GETFL);
  return flags != -1 && (flags & O_ACCMODE) != O_RDONLY;
}

bool is_terminal(int descriptor) noexcept { return ::isatty(descriptor) == 1; }

std::optional<std::size_t> terminal_columns(int descriptor) noexcept {
  winsize size{};
  if (!is_terminal(descriptor) || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace garuda::os
