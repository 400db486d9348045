#include "core/os/processor.hpp"

#include <fmt/format.h>

#include <array>

#include "core/os/windows/windows.hpp"

namespace garuda::os {

std::string processor_name() {
  std::array<char, 256> name{};
  auto bytes = static_cast<DWORD>(name.size());
  if (::RegGetValueA(HKEY_LOCAL_MACHINE, R"(HARDWARE\DESCRIPTION\System\CentralProcessor\0)", "ProcessorNameString",
                     RRF_RT_REG_SZ, nullptr, name.data(), &bytes) != ERROR_SUCCESS)
    return "unknown processor";
  std::string result(name.data());
  result.erase(result.find_last_not_of(' ') + 1);  // makers fill up with spaces
  return result.empty() ? "unknown processor" : result;
}

std::optional<System> system() {
  // GetVersionEx answers with the version that a program says it was made for; this is the system's.
  using RtlGetVersion = LONG(WINAPI*)(OSVERSIONINFOW*);
  auto* const library = ::GetModuleHandleW(L"ntdll.dll");
  if (library == nullptr) return std::nullopt;
  auto const get_version =
      reinterpret_cast<RtlGetVersion>(reinterpret_cast<void*>(::GetProcAddress(library, "RtlGetVersion")));
  OSVERSIONINFOW version{};
  version.dwOSVersionInfoSize = sizeof version;
  if (get_version == nullptr || get_version(&version) != 0) return std::nullopt;
  return System{"Windows",
                fmt::format("{}.{}.{}", version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber),
                "x86_64"};
}

std::optional<unsigned> current_processor() noexcept { return std::nullopt; }

void leave_processor(unsigned /*from*/) noexcept {}

}  // namespace garuda::os
