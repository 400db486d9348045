#include "core/os/streams.hpp"

#include <fcntl.h>
#include <io.h>

#include <cerrno>

#include "core/os/windows/windows.hpp"

namespace garuda::os {
namespace {

HANDLE handle_of(int descriptor) noexcept {
  // Where a stream is closed the C library keeps -2 in place of a handle.
  auto const handle = ::_get_osfhandle(descriptor);
  return handle == -2 ? INVALID_HANDLE_VALUE : reinterpret_cast<HANDLE>(handle);
}

}  // namespace

int prepare_standard_streams() noexcept {
  for (int descriptor = 0; descriptor <= kError; ++descriptor) {
    if (handle_of(descriptor) != INVALID_HANDLE_VALUE) {
      (void)::_setmode(descriptor, _O_BINARY);
      continue;
    }
    // The wrong way round for input and output: whoever uses them is told so by EBADF.
    int opened = -1;
    auto const error_number =
        ::_wsopen_s(&opened, L"NUL", (descriptor == kOutput ? _O_RDONLY : _O_WRONLY) | _O_BINARY, 0x40, 0);
    if (error_number != 0) return error_number;
    if (opened == descriptor) continue;
    if (::_dup2(opened, descriptor) != 0) return errno;
    ::_close(opened);
  }
  (void)::SetConsoleOutputCP(CP_UTF8);
  return 0;
}

bool is_writable(int descriptor) noexcept {
  // Writing nothing to what is open for reading alone fails.
  DWORD written = 0;
  auto* const handle = handle_of(descriptor);
  return handle != INVALID_HANDLE_VALUE && ::WriteFile(handle, "", 0, &written, nullptr) != 0;
}

bool is_terminal(int descriptor) noexcept {
  DWORD mode = 0;
  return ::GetConsoleMode(handle_of(descriptor), &mode) != 0;
}

std::optional<std::size_t> terminal_columns(int descriptor) noexcept {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (::GetConsoleScreenBufferInfo(handle_of(descriptor), &info) == 0 || info.srWindow.Right < info.srWindow.Left)
    return std::nullopt;
  return static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

}  // namespace garuda::os
