#include "core/os/temporary_folder.hpp"

#include "core/os/environment.hpp"
#include "core/os/file.hpp"

namespace garuda::os {

std::filesystem::path TemporaryFolder::path() const { return path_ ? *path_ : temporary_folder(); }

std::string TemporaryFolder::sentence() const { return "cannot spill to " + path().string(); }

Result<int> TemporaryFolder::create_file() const {
  auto const file = create_unnamed_file(path());
  if (file.descriptor < 0)
    return tl::unexpected(Error(ErrorCode::output, system_message(file.error_number)).wrap(sentence()));
  return file.descriptor;
}

}  // namespace garuda::os
