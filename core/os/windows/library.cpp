#include "core/os/library.hpp"

#include "core/os/windows/text.hpp"
#include "core/os/windows/windows.hpp"

namespace garuda::os {

Result<LoadedLibrary> LoadedLibrary::load(std::filesystem::path const& file, Binding) {
  auto* const handle = ::LoadLibraryW(file.c_str());
  if (handle == nullptr) return fail(ErrorCode::no_device, file.string() + ": " + last_error_message());
  return LoadedLibrary(handle);
}

Result<void*> LoadedLibrary::find(char const* name) const {
  auto const address = ::GetProcAddress(static_cast<HMODULE>(handle_), name);
  if (address == nullptr) return fail(ErrorCode::no_device, std::string(name) + ": " + last_error_message());
  return reinterpret_cast<void*>(address);
}

std::string library_file_name(std::string const& name) { return name + ".dll"; }

std::filesystem::path own_folder() {
  constexpr std::size_t kLongest = 32'768;
  static int const anchor = 0;
  HMODULE own = nullptr;
  if (::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                           reinterpret_cast<LPCWSTR>(&anchor), &own) == 0)
    return {};
  std::wstring file(kLongest, L'\0');
  file.resize(::GetModuleFileNameW(own, file.data(), static_cast<DWORD>(file.size())));
  return std::filesystem::path(file).parent_path();
}

}  // namespace garuda::os
