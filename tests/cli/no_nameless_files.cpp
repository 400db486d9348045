// For LD_PRELOAD: a file system without files that have no name.
#include <dlfcn.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdarg>

extern "C" int open(char const* file, int flags, ...) {
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  std::va_list more;
  va_start(more, flags);
  auto const mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0U;
  va_end(more);
  auto* const real = reinterpret_cast<int (*)(char const*, int, ...)>(::dlsym(RTLD_NEXT, "open"));
  return real(file, flags, mode);
}
