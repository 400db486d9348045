#include "core/os/process.hpp"

#include <cstdlib>
#include <exception>
#include <memory>

#include "core/os/windows/text.hpp"
#include "core/os/windows/windows.hpp"

namespace garuda::os {
namespace {

/// Quotes an argument as the C library of the program that is started takes a command line apart.
std::wstring quoted(std::wstring const& argument) {
  std::wstring text = L"\"";
  std::size_t backslashes = 0;
  for (auto const c : argument) {
    // Backslashes stand for themselves but before a quotation mark.
    if (c == L'"') text.append(backslashes + 1, L'\\');
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    text += c;
  }
  text.append(backslashes, L'\\');
  return text + L'"';
}

}  // namespace

std::uint64_t process_id() noexcept { return ::GetCurrentProcessId(); }

std::filesystem::path executable() {
  constexpr std::size_t kLongest = 32'768;
  std::wstring file(kLongest, L'\0');
  file.resize(::GetModuleFileNameW(nullptr, file.data(), static_cast<DWORD>(file.size())));
  return file;
}

std::vector<std::string> utf8_arguments(int argc, char const* const* argv) {
  int count = 0;
  std::unique_ptr<LPWSTR[], decltype(&::LocalFree)> const wide(::CommandLineToArgvW(::GetCommandLineW(), &count),
                                                               &::LocalFree);
  if (!wide) return {argv, argv + argc};
  std::vector<std::string> arguments;
  for (int i = 0; i < count; ++i) arguments.push_back(to_utf8(wide[static_cast<std::size_t>(i)]));
  return arguments;
}

void lower_priority() noexcept { (void)::SetPriorityClass(::GetCurrentProcess(), BELOW_NORMAL_PRIORITY_CLASS); }

void start_detached(std::vector<std::string> arguments) noexcept {
  try {
    std::wstring line;
    for (auto const& argument : arguments) line += (line.empty() ? L"" : L" ") + quoted(to_wide(argument));
    STARTUPINFOW startup{};
    startup.cb = sizeof startup;
    PROCESS_INFORMATION process{};
    if (::CreateProcessW(executable().c_str(), line.data(), nullptr, nullptr, FALSE,
                         DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP, nullptr, nullptr, &startup, &process) == 0)
      return;
    ::CloseHandle(process.hThread);
    ::CloseHandle(process.hProcess);
  } catch (std::exception const&) {  // no memory for the command line
  }
}

void end_at_once(int code) noexcept {
  // Without the exit handlers of the libraries that are loaded, which may be what is at fault.
  ::TerminateProcess(::GetCurrentProcess(), static_cast<UINT>(code));
  ::_exit(code);
}

void end_before_drivers(int code) noexcept { std::_Exit(code); }

}  // namespace garuda::os
