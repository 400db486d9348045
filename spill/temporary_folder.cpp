#include "spill/temporary_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "io/system_message.hpp"

namespace garuda::spill {
namespace {

/// A file that never has a name, where the file system knows such; otherwise -1 and errno.
int open_unnamed(std::string const& folder) {
#ifdef O_TMPFILE
  int const descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // EISDIR: from kernels that do not know the flag.
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
#endif
  auto name = folder + "/garuda-spill-XXXXXX";
  int const named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) return named;
  if (::unlink(name.c_str()) == 0) return named;
  int const saved = errno;
  ::close(named);
  errno = saved;
  return -1;
}

}  // namespace

std::filesystem::path TemporaryFolder::path() const {
  if (path_) return *path_;
  auto const* const variable = std::getenv("TMPDIR");
  return variable != nullptr && *variable != '\0' ? variable : "/tmp";
}

std::string TemporaryFolder::sentence() const { return "cannot spill to " + path().string(); }

Result<int> TemporaryFolder::create_file() const {
  int const descriptor = open_unnamed(path().string());
  if (descriptor < 0) return tl::unexpected(Error(ErrorCode::output, io::system_message(errno)).wrap(sentence()));
  return descriptor;
}

}  // namespace garuda::spill
