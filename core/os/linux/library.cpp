#include "core/os/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

#include "core/os/process.hpp"

namespace garuda::os {
namespace {

tl::unexpected<Error> last_failure() {
  auto const* const text = dlerror();  // NOLINT(concurrency-mt-unsafe): thread-local in glibc
  return fail(ErrorCode::no_device, text == nullptr ? "unknown error" : text);
}

}  // namespace

Result<LoadedLibrary> LoadedLibrary::load(std::filesystem::path const& file, Binding binding) {
  void* const handle = dlopen(file.c_str(), (binding == Binding::at_once ? RTLD_NOW : RTLD_LAZY) | RTLD_LOCAL);
  if (handle == nullptr) return last_failure();
  return LoadedLibrary(handle);
}

Result<void*> LoadedLibrary::find(char const* name) const {
  auto* const symbol = dlsym(handle_, name);
  if (symbol == nullptr) return last_failure();
  return symbol;
}

std::string library_file_name(std::string const& name) { return "lib" + name + ".so"; }

std::filesystem::path own_folder() {
  Dl_info info{};
  link_map* map = nullptr;
  static int const anchor = 0;
  if (dladdr1(&anchor, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  // The program itself is known by its first argument only, which may be the name of anything.
  if (map->l_name == nullptr || *map->l_name == '\0') return executable().parent_path();
  std::error_code ignored;
  auto const file = std::filesystem::canonical(map->l_name, ignored);
  return ignored ? std::filesystem::path() : file.parent_path();
}

}  // namespace garuda::os
