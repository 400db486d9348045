#include "cli/terminal/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "io/system_message.hpp"

namespace garuda::cli {
namespace {

struct Stand {
  int descriptor;
  int flags;
};

// The wrong way round for input and output: whoever uses them is told so by EBADF.
constexpr std::array kStands{Stand{STDIN_FILENO, O_WRONLY}, Stand{STDOUT_FILENO, O_RDONLY},
                             Stand{STDERR_FILENO, O_WRONLY}};

}  // namespace

Result<void> occupy_standard_streams() {
  for (auto const& stand : kStands) {
    if (::fcntl(stand.descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free descriptor is taken, which is this one: those below it are occupied by now.
    if (::open("/dev/null", stand.flags) < 0)
      return tl::unexpected(Error(ErrorCode::output, io::system_message(errno)).wrap("cannot open /dev/null"));
  }
  return {};
}

Result<void> check_output_is_open() {
  auto const flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if (flags != -1 && (flags & O_ACCMODE) != O_RDONLY) return {};
  return fail(ErrorCode::output, "cannot write to standard output: it is closed");
}

}  // namespace garuda::cli
